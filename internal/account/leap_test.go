package account

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A machine that came up with its clock a month ahead, of a dead battery or a wrong time
// server, deleted results that were a day old, for good, before anybody could put it right.
func TestAClockThatLeapsDeletesNothing(t *testing.T) {
	t.Parallel()
	onAll(t, testAClockThatLeapsDeletesNothing)
}

func testAClockThatLeapsDeletesNothing(t *testing.T, fresh database) {
	t.Helper()
	const month = 30 * 24 * time.Hour
	of, c := fresh(t), at("2026-01-15T12:00:00Z")
	l := open(t, of, c)
	a := join(t, l, "ann", "free")
	purge := func() (int, error) { return l.Purge(t.Context(), month) }
	done := settle(t, l, reserve(t, l, a, false))
	assert.Zero(t, purgeDaily(t, l, c, 1, month))

	c.add(40 * 24 * time.Hour)
	l = open(t, of, c) // the machine was started
	_, err := purge()
	var leapt *LeapError
	require.ErrorAs(t, err, &leapt)
	assert.EqualError(t, leapt, "the clock says 2026-02-25 12:00:00, 40 days after it was last seen (2026-01-16 12:00:00): nothing is deleted before 2026-02-26 12:00:00; "+
		"if it is wrong, put it right until then, and if the service was off for so long, leave it")
	settle(t, l, reserve(t, l, a, false)) // what is judged meanwhile proves nothing
	c.add(23 * time.Hour)
	_, err = purge()
	require.ErrorAs(t, err, &leapt)
	assert.Equal(t, "complete ", stateOf(t, l, a, done.ID))
	var days int
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM submissions`).Scan(&days))
	assert.Equal(t, 2, days, "nor is what was submitted today forgotten")

	c.set("2026-01-17T12:00:00Z") // it was put right
	n, err := purge()
	require.NoError(t, err)
	assert.Zero(t, n)

	// A service that was off for two months has kept them for a day more, however
	// often it was started since.
	c.add(2 * month)
	_, err = purge()
	require.ErrorAs(t, err, &leapt)
	c.add(24 * time.Hour)
	l = open(t, of, c)
	n, err = purge()
	require.NoError(t, err)
	assert.Equal(t, 1, n, "what the wrong clock dated is due by that")
	assert.Empty(t, stateOf(t, l, a, done.ID))
}

// The first start of this version need not be the one that deletes everything, either.
func TestAClockThatLeapsBeforeItWasSeen(t *testing.T) {
	t.Parallel()
	onAll(t, testAClockThatLeapsBeforeItWasSeen)
}

func testAClockThatLeapsBeforeItWasSeen(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	settle(t, l, reserve(t, l, join(t, l, "ann", "pro"), true))
	c.add(40 * 24 * time.Hour)
	var leapt *LeapError
	_, err := l.Purge(t.Context(), time.Hour)
	require.ErrorAs(t, err, &leapt)
	c.add(24 * time.Hour)
	n, err := l.Purge(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
}

func TestSightings(t *testing.T) {
	t.Parallel()
	const seen = 1000 * day
	now := func(d time.Duration) int64 { return (seen + d).Microseconds() }
	since := func(d time.Duration) sighting { return sighting{now(0), sql.NullInt64{Int64: now(d), Valid: true}} }
	believed := func(d time.Duration) sighting { return sighting{seen: now(d)} }
	for name, tt := range map[string]struct {
		was, want sighting
		now       time.Duration
	}{
		"an hour later":                {believed(0), believed(time.Hour), time.Hour},
		"after a weekend":              {believed(0), believed(3 * day), 3 * day},
		"after a week":                 {believed(0), since(7 * day), 7 * day},
		"back to 1970":                 {believed(0), believed(0), -seen},
		"a day of doubt":               {since(7 * day), believed(8 * day), 8 * day},
		"less than a day of doubt":     {since(7 * day), since(7 * day), 8*day - time.Microsecond},
		"it was put right":             {since(7 * day), believed(time.Hour), time.Hour},
		"it was put back, not far":     {since(70 * day), since(7 * day), 7 * day},
		"a year off, then a day of it": {since(365 * day), believed(366 * day), 366 * day},
	} {
		assert.Equal(t, tt.want, tt.was.at(now(tt.now)), name)
	}
}

// Processes that look at the same moment do not stand in each other's way.
func TestSightingsOfManyProcesses(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh database) {
		t.Helper()
		of, c := fresh(t), at("2026-01-15T12:00:00Z")
		done := make(chan error, 8)
		for range cap(done) {
			l := open(t, of, c)
			go func() { _, err := l.Purge(t.Context(), time.Hour); done <- err }()
		}
		for range cap(done) {
			require.NoError(t, <-done)
		}
	})
}

package account

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

// The store is left open and unused, as a process that was killed leaves it:
// its log not folded into the database file.
func TestRecoverAfterACrash(t *testing.T) {
	t.Parallel()
	onBoth(t, testRecoverAfterACrash)
}

func testRecoverAfterACrash(t *testing.T, fresh database) {
	t.Helper()
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	l := open(t, dir, c)
	a := join(t, l, "ann", "pro")
	async, synchronous := reserve(t, l, a, true), reserve(t, l, a, false)
	done, failed := reserve(t, l, a, true), reserve(t, l, a, true)
	settle(t, l, done)
	require.NoError(t, l.Fail(t.Context(), failed, "It failed."))

	c.add(time.Hour)
	require.NoError(t, l.process.Leave())
	l = open(t, dir, c)
	recovered(t, l, 1)
	used, reserved, err := places(t.Context(), l, a)
	require.NoError(t, err)
	assert.Equal(t, 1, used)
	assert.Equal(t, 1, reserved, "a job goes on, and its place is held")

	d, err := l.Detection(t.Context(), a, async)
	require.NoError(t, err)
	assert.Equal(t, Processing, d.State)
	_, err = l.Settle(t.Context(), synchronous, outcome)
	require.ErrorIs(t, err, ErrNotFound)
	d, err = l.Detection(t.Context(), a, done)
	require.NoError(t, err)
	assert.Equal(t, Complete, d.State)
	d, err = l.Detection(t.Context(), a, failed)
	require.NoError(t, err)
	assert.Equal(t, "It failed.", d.Error)

	n, err := l.Recover(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
}

// The day of a Free account went on counting what a crash of the service had ended: whose
// last submissions it took had to wait until the next day. Withdraw gives the day back for
// any other fault of the service.
func TestACrashGivesTheDayBack(t *testing.T) {
	t.Parallel()
	onBoth(t, testACrashGivesTheDayBack)
}

func testACrashGivesTheDayBack(t *testing.T, fresh database) {
	t.Helper()
	dir, c := fresh(t), at("2026-01-15T23:00:00Z")
	l := open(t, dir, c)
	ann, ben := join(t, l, "ann", "free"), join(t, l, "ben", "free")
	settle(t, l, reserve(t, l, ann, false))
	for range ann.Plan.Daily - 1 {
		reserve(t, l, ann, false)
	}
	reserve(t, l, ben, false)
	require.Error(t, l.Check(t.Context(), ann))

	require.NoError(t, l.process.Leave())
	c.add(2 * time.Hour) // the day on which they were accepted is another one by then
	l = open(t, dir, c)
	reserve(t, l, ben, false)
	recovered(t, l, ann.Plan.Daily)
	for who, want := range map[string][2]int{ann.ID: {1, 0}, ben.ID: {0, 1}} {
		var days [2]int
		for i, ago := range []time.Duration{2 * time.Hour, 0} {
			require.NoError(t, l.store.Reader().QueryRowContext(t.Context(),
				`SELECT coalesce(sum(count), 0) FROM submissions WHERE account_id = $1 AND day = $2`, who, dayNumber(c.Now().Add(-ago))).Scan(&days[i]))
		}
		assert.Equal(t, want, days)
	}
}

// recovered waits until as many places have been taken back.
func recovered(t *testing.T, l *Ledger, want int) {
	t.Helper()
	got := 0
	for deadline := time.Now().Add(time.Minute); got < want && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		n, err := l.Recover(t.Context())
		require.NoError(t, err)
		got += n
	}
	assert.Equal(t, want, got)
}

// Whoever is at work keeps its places, whatever the others think of those that
// have gone; on PostgreSQL nobody has gone before it could have been heard.
func TestTheLivingKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	dir, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	gone, alive, heir := open(t, dir, c), open(t, dir, c), open(t, dir, c)
	a := join(t, gone, "ann", "pro")
	reserve(t, gone, a, false)
	kept := reserve(t, alive, a, false)
	require.NoError(t, gone.process.Leave())
	n, err := heir.Recover(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n, "the heir has not been there for long enough to tell")
	recovered(t, heir, 1)
	settle(t, alive, kept)
	assert.Equal(t, 1, usage(t, heir, a).Used)
}

// A process that was cut off may take a place before it has said that it is back. Another
// one gave that back at once, as if it were of one that has gone, and what was analysed
// for it ended as an error. What it held before the silence is no longer its own.
func TestPlacesTakenAfterASilence(t *testing.T) {
	t.Parallel()
	of, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	back, heir := open(t, of, c), open(t, of, c)
	a := join(t, back, "ann", "pro")
	before := reserve(t, back, a, false)
	require.NoError(t, back.process.Leave()) // to the others it is silent
	settled, given := 0, 0
	for deadline := time.Now().Add(time.Minute); given == 0 && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		c.set(time.Now().UTC().Format(time.RFC3339Nano))
		after := reserve(t, back, a, false)
		n, err := heir.Recover(t.Context())
		require.NoError(t, err)
		given += n
		settle(t, back, after)
		settled++
	}
	assert.Equal(t, 1, given)
	_, err := back.Settle(t.Context(), before, outcome)
	require.ErrorIs(t, err, ErrNotFound)
	reserve(t, back, a, false)
	recovered(t, heir, 1) // its silence is long enough by then
	used, reserved, err := places(t.Context(), heir, a)
	require.NoError(t, err)
	assert.Equal(t, settled, used)
	assert.Zero(t, reserved)
}

// Places that others give back are settled at the same moment, by a process that has come
// back: each is a scan or is gone, and never both.
func TestPlacesSettledWhileTheyAreGivenBack(t *testing.T) {
	t.Parallel()
	const many = 100
	of, c := postgrestest.Database(t), at("2026-01-15T12:00:00Z")
	gone, back, heir := open(t, of, c), open(t, of, c), open(t, of, c)
	a := join(t, gone, "ann", "pro")
	reserve(t, gone, a, false)
	require.NoError(t, gone.process.Leave())
	recovered(t, heir, 1) // it may give back from now on
	ids := make(chan string, many)
	for range many {
		ids <- reserve(t, back, a, false)
	}
	close(ids)
	require.NoError(t, back.process.Leave())

	var settled atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for id := range ids {
				_, err := back.Settle(t.Context(), id, outcome)
				if err == nil {
					settled.Add(1)
					continue
				}
				assert.ErrorIs(t, err, ErrNotFound)
			}
		})
	}
	given, err := heir.Recover(t.Context())
	require.NoError(t, err)
	group.Wait()
	used, reserved, err := places(t.Context(), heir, a)
	require.NoError(t, err)
	assert.Zero(t, reserved)
	assert.EqualValues(t, settled.Load(), used)
	assert.Equal(t, many, used+given)
}

func TestPurge(t *testing.T) {
	t.Parallel()
	onAll(t, testPurge)
}

func testPurge(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	running := reserve(t, l, a, true)
	failed := reserve(t, l, a, true)
	require.NoError(t, l.Fail(t.Context(), failed, "It failed."))
	old := settle(t, l, reserve(t, l, a, false))
	c.add(time.Microsecond)
	kept := settle(t, l, reserve(t, l, a, false))

	assert.Equal(t, 2, purgeDaily(t, l, c, 30, 30*24*time.Hour))
	for id, want := range map[string]error{running: nil, kept.ID: nil, failed: ErrNotFound, old.ID: ErrNotFound} {
		_, err := l.Detection(t.Context(), a, id)
		assert.ErrorIs(t, err, want)
	}
	c.set("2026-01-15T12:00:00Z")
	assert.Equal(t, 2, usage(t, l, a).Used, "scans stay counted")
}

// Results whose time was over, with the SHA-256 of their files, could be read in the database's file until others
// took their places: SQLite leaves what is deleted there.
func TestNothingIsLeftOfWhatIsPurged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := store.Open(t.Context(), dir, store.DefaultOptions())
	require.NoError(t, err)
	opts, c := DefaultOptions(), at("2026-01-15T12:00:00Z")
	opts.Now = c.Now
	l, err := New(s, opts)
	require.NoError(t, err)
	a := join(t, l, "ann", "pro")
	sum := strings.Repeat("0123456789abcdef", 4)
	for _, frames := range []int{1, 1000} { // of which a thousand take pages of their own
		_, err := l.Settle(t.Context(), reserve(t, l, a, false), Outcome{
			Kind: "video", Verdict: "fake", Confidence: 0.875,
			Report: []byte(`{"frames":[` + strings.Repeat("0.125,", frames) + `0],"sha256":"` + sum + `"}`),
		})
		require.NoError(t, err)
	}
	checkpoint := func() []byte {
		_, err := s.SQLite().ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
		require.NoError(t, err)
		file, err := os.ReadFile(filepath.Join(dir, store.FileName))
		require.NoError(t, err)
		return file
	}
	assert.Equal(t, 2, bytes.Count(checkpoint(), []byte(sum)))
	assert.Equal(t, 2, purgeDaily(t, l, c, 2, time.Hour))
	assert.Zero(t, bytes.Count(checkpoint(), []byte(sum)))
	require.NoError(t, s.Close())
}

// purgeDaily lets days pass on which what is due is deleted, and returns how many were.
func purgeDaily(t *testing.T, l *Ledger, c *clock, days int, olderThan time.Duration) (deleted int) {
	t.Helper()
	for range days {
		c.add(24 * time.Hour)
		n, err := l.Purge(t.Context(), olderThan)
		require.NoError(t, err)
		deleted += n
	}
	return deleted
}

func TestPurgeInBatches(t *testing.T) {
	t.Parallel()
	onAll(t, testPurgeInBatches)
}

func testPurgeInBatches(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "pro")
	const many = 2*purgeBatch + 1
	insertFailed(t, l, a, many, c.Now())
	n, err := l.Purge(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Zero(t, n)
	c.add(time.Hour + time.Microsecond)
	n, err = l.Purge(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, many, n)
}

func TestPurgeForgetsDays(t *testing.T) {
	t.Parallel()
	onAll(t, testPurgeForgetsDays)
}

func testPurgeForgetsDays(t *testing.T, fresh database) {
	t.Helper()
	l, c := setup(t, fresh)
	a := join(t, l, "ann", "free")
	for range 10 {
		settle(t, l, reserve(t, l, a, false))
	}
	_, err := l.Purge(t.Context(), time.Hour)
	require.NoError(t, err)
	require.Error(t, l.Check(t.Context(), a), "today is not over")
	purgeDaily(t, l, c, 9, time.Hour)
	var days int
	require.NoError(t, l.store.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM submissions`).Scan(&days))
	assert.Zero(t, days)
}

// insertFailed stores n failed detections at once.
func insertFailed(t *testing.T, l *Ledger, a Account, n int, completed time.Time) {
	t.Helper()
	require.NoError(t, l.finish(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for i := range n {
			_, err := tx.ExecContext(ctx, `
				INSERT INTO detections (id, account_id, mode, state, sensitivity, error, created_at, completed_at)
				VALUES ($1, $2, 'async', 'failed', 'strict', 'It failed.', $3, $3)`, fmt.Sprint(i), a.ID, micros(completed))
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

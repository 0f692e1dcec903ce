package job

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
)

// A job was due by the clock of the process that accepted it, and fetched by the
// database's. Where the one was an hour ahead of the other, jobs waited for an hour
// beside idle workers, and filled the queue for everybody.
func TestAcceptedByAClockThatIsAhead(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.database = postgrestest.Behind(t, w.database, time.Hour)
	f := setup(t, w, good, options(1))
	assert.Equal(t, account.Complete, f.ended(f.submit(1)[0]).State)
}

// A job that is tried again was due by the clock of its worker, and on SQLite by one
// that may have been put back since: it waited until that hour had come again. It runs
// once the jobs of others are looked for; one that has to wait no longer than others
// is left alone.
func TestDueByAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	onBoth(t, testDueByAClockThatWasAhead)
}

func testDueByAClockThatWasAhead(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(0))
	var late []string
	for _, state := range []string{"available", "retryable", "scheduled"} {
		id := f.submit(1)[0]
		f.waits(id, state, time.Hour)
		late = append(late, id)
	}
	waits := f.submit(1)[0]
	f.waits(waits, "retryable", f.jobs.opts.longestWait()-time.Second)
	f.start(good, options(1))
	f.inherit()
	for _, id := range late {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
	d, err := f.ledger.Detection(t.Context(), f.account, waits)
	require.NoError(t, err)
	assert.Equal(t, account.Processing, d.State)
}

// When the clock went back by less than jobs.deadline new jobs waited for as long beside idle
// workers: only what was to wait for longer ran. Those that River has made available
// are due within seconds.
func TestAcceptedBeforeTheClockWentBack(t *testing.T) {
	t.Parallel()
	onBoth(t, testAcceptedBeforeTheClockWentBack)
}

func testAcceptedBeforeTheClockWentBack(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(0))
	ids := f.submit(3)
	f.waits(ids[0], "available", f.jobs.opts.longestWait()/2)
	f.waits(ids[1], "available", lost+5*time.Second) // River's own
	f.waits(ids[2], "scheduled", f.jobs.opts.longestWait()/2)
	hastened := int64(0)
	require.Eventually(t, func() bool { // on PostgreSQL once this process has been there for long enough
		in, err := f.jobs.inherit(t.Context())
		hastened += in.hastened
		return assert.NoError(t, err) && hastened > 0
	}, patience, 50*time.Millisecond)
	assert.EqualValues(t, 1, hastened)
	f.start(good, options(1))
	assert.Equal(t, account.Complete, f.ended(ids[0]).State)
}

// waits has the job of a detection wait.
func (f *fixture) waits(id, state string, wait time.Duration) {
	f.t.Helper()
	require.NoError(f.t, f.books.Write(f.t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(f.t.Context(), `
			UPDATE river_job SET state = '`+state+`', scheduled_at = `+f.jobs.words.in(wait)+` WHERE args->>'id' = $1`, id)
		return err
	}))
}

// A process that was killed while the clock was a month ahead went on leading River's for a month: no other
// was elected, and nobody had jobs that had been postponed run once they were due. It is
// unseated when the jobs of others are looked for.
func TestALeaderWhoseClockWasAhead(t *testing.T) {
	t.Parallel()
	onBoth(t, testALeaderWhoseClockWasAhead)
}

func testALeaderWhoseClockWasAhead(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(0))
	until := func(d time.Duration) string { return f.jobs.words.in(30*24*time.Hour + d) }
	require.NoError(t, f.books.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO river_leader (leader_id, elected_at, expires_at)
			VALUES ('killed', `+until(0)+`, `+until(15*time.Second)+`)`)
		return err
	}))
	id := f.submit(1)[0]
	f.waits(id, "scheduled", 6*time.Second) // in which another is elected
	f.start(good, options(1))
	f.inherit()
	assert.Equal(t, account.Complete, f.ended(id).State)
}

// River has jobs run once they are due by the clock of the process that leads its clients:
// where that is behind, what others had postponed waited for as long beside idle workers.
func TestALeaderWhoseClockIsBehind(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	w.database = postgrestest.Behind(t, w.database, -9*time.Minute)
	f := setup(t, w, good, options(0))
	id := f.submit(1)[0]
	f.waits(id, "scheduled", -time.Minute) // by the clock of another process, which is the database's
	f.start(good, options(1))
	f.inherit()
	assert.Equal(t, account.Complete, f.ended(id).State)
}

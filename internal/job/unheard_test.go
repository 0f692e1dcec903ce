package job

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/gather"
	"deepfaked/internal/postgrestest"
	"deepfaked/internal/store"
	"deepfaked/preprocess"
)

// enterUnheard enters a place on PostgreSQL with a runner that accepts jobs and runs none.
func enterUnheard(t *testing.T) (*fixture, *postgrestest.Unheard) {
	t.Helper()
	w, between := onPostgres(t), &postgrestest.Unheard{}
	w.database = postgrestest.Between(t, w.database, between.Relay)
	f := enter(t, w)
	f.start(good, options(0))
	return f, between
}

// The connection broke between the COMMIT of a job and its answer: the client got a 500 and
// the upload was removed, and the job was there, and failed for want of it.
func TestAJobWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	f, between := enterUnheard(t)
	between.Lose("det_", false)
	id := f.submit(1)[0]
	f.start(good, options(1))
	assert.Equal(t, account.Complete, f.ended(id).State)
	f.used(1)
	f.empty()
}

// Several that shared the transaction were then tried one by one, each refused because it
// was there already, and all their uploads were removed.
func TestJobsWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	f, between := enterUnheard(t)
	held, err := f.books.Postgres().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = held.Rollback(context.Background()) }()
	_, err = held.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, f.account.ID)
	require.NoError(t, err)

	var group sync.WaitGroup
	ids := make(chan string, 5)
	submit := func() string {
		s, task, err := f.task(f.account)
		require.NoError(t, err)
		group.Go(func() {
			assert.NoError(t, errors.Join(f.jobs.Submit(t.Context(), f.account, s, task), task.File.Close()))
		})
		ids <- task.ID
		return task.ID
	}
	waiting := func(accepting, next int) {
		require.Eventually(t, func() bool {
			n := 0
			err := f.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).Scan(&n)
			return err == nil && n == accepting && f.jobs.accepts.Waiting() == next
		}, patience, time.Millisecond)
	}
	for turn := range 2 { // that are taken by one each
		submit()
		waiting(turn+1, 0)
	}
	for n := range 3 {
		between.Lose(submit(), false) // one of those that go together
		waiting(2, n+1)
	}
	require.NoError(t, held.Rollback(t.Context()))
	group.Wait()
	close(ids)
	f.start(good, options(2))
	for id := range ids {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
	f.used(5)
	f.empty()
}

// The connection broke between the COMMIT of a job's end and its answer: the job had ended and did not run again,
// and its upload stayed in the bucket or the shared folder for an hour or two after its result.
func TestAnEndWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for want, refusal := range map[account.State]error{account.Complete: nil, account.Failed: &preprocess.Error{Code: preprocess.UnsupportedMediaType}} {
		t.Run(string(want), func(t *testing.T) {
			t.Parallel()
			w, between := onPostgres(t), &postgrestest.Unheard{}
			client := enter(t, w)
			w.database = postgrestest.Between(t, w.database, between.Relay)
			f := enter(t, w)
			f.start(func(context.Context, inference.Request) (inference.Result, error) {
				between.Lose("det_", false)
				result, err := good(t.Context(), inference.Request{})
				return result, errors.Join(err, refusal)
			}, options(1))
			d := client.ended(f.submit(1)[0])
			assert.Equal(t, want, d.State)
			require.Eventually(t, func() bool { return len(f.jobs.unsure.list()) == 1 }, patience, time.Millisecond)
			n, err := f.jobs.Clear(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, n)
			f.empty()
		})
	}
}

// unknown are books whose database does not say what has come of what they reserve.
type unknown struct{ Books }

// ReserveAll implements Books.
func (u unknown) ReserveAll(ctx context.Context, all []account.Request, also ...account.Step) error {
	return errors.Join(u.Books.ReserveAll(ctx, all, also...), &store.UnknownError{Err: errors.New("it is away")})
}

// deaf are books whose database does not take the first end, and does not say so.
type deaf struct {
	Books

	ends atomic.Int64
}

// SettleAll implements Books.
func (d *deaf) SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error {
	if d.ends.Add(1) == 1 {
		return &store.UnknownError{Err: errors.New("it is away")}
	}
	return d.Books.SettleAll(ctx, all, also...)
}

// A job of which that was so runs again, and finds its upload.
func TestAnEndThatWasNotTaken(t *testing.T) {
	t.Parallel()
	f := enter(t, onPostgres(t))
	var err error
	f.jobs, err = New(t.Context(), f.deps(good, &deaf{Books: f.ledger}), options(1))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.jobs.Close(context.Background())) })
	require.NoError(t, f.jobs.Start(t.Context()))
	id := f.submit(1)[0]
	require.Eventually(t, func() bool { return len(f.jobs.unsure.list()) == 1 }, patience, time.Millisecond)
	n, err := f.jobs.Clear(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.Equal(t, account.Complete, f.ended(id).State)
	f.used(1)
	f.empty()
}

// As long as nobody knows whether there is a job, it keeps its upload.
func TestAJobThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	f := enter(t, onPostgres(t))
	runner, err := New(t.Context(), f.deps(good, unknown{f.ledger}), options(0))
	require.NoError(t, err)
	s, task, err := f.task(f.account)
	require.NoError(t, err)
	require.ErrorIs(t, runner.Submit(t.Context(), f.account, s, task), gather.ErrUndecided)
	require.NoError(t, task.File.Close())
	f.start(good, options(1))
	assert.Equal(t, account.Complete, f.ended(task.ID).State)
	f.empty()
}

// The books take out what was accepted unheard, and may come later than a worker: then its
// job ends without a result, a count or an upload.
func TestAJobThatIsTakenOut(t *testing.T) {
	t.Parallel()
	f := enter(t, onPostgres(t))
	f.start(good, options(0))
	id := f.submit(1)[0]
	require.NoError(t, f.ledger.Withdraw(t.Context(), id))
	f.start(good, options(1))
	f.empty()
	f.used(0)
	_, err := f.ledger.Detection(t.Context(), f.account, id)
	require.ErrorIs(t, err, account.ErrNotFound)
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		waits, err := f.jobs.wanted(t.Context())
		assert.NoError(c, err)
		assert.Empty(c, waits)
	}, patience, 5*time.Millisecond)
}

package job

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/store"
)

// A fetch marked jobs as running, and its answer was lost on the way: nobody ran
// them, and since their process was alive nobody took them up. Their detections
// were being processed, and held their places, until that process was restarted.
// They run once a minute has passed, with all their attempts. What was fetched
// just now, and what is being analysed, stays where it is.
func TestFetchWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, testFetchWhoseAnswerIsLost)
}

func testFetchWhoseAnswerIsLost(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	opts := options(0)
	opts.Attempts = 1
	f := setup(t, fresh(t), good, opts)
	forgotten, late := f.submit(1)[0], f.submit(1)[0]
	f.fetch(2)

	var calls atomic.Int64
	begun, finish := make(chan struct{}), make(chan struct{})
	opts.Workers = 2
	f.start(func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if calls.Add(1) == 1 {
			close(begun)
			<-finish
		}
		return good(ctx, r)
	}, opts)
	letFinish := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(letFinish)
	runs := f.submit(1)[0]
	<-begun
	f.fetchedLongAgo(forgotten)
	f.fetchedLongAgo(runs)
	f.inherit()
	assert.Equal(t, account.Complete, f.ended(forgotten).State)
	d, err := f.ledger.Detection(t.Context(), f.account, late)
	require.NoError(t, err)
	assert.Equal(t, account.Processing, d.State)
	assert.EqualValues(t, 2, calls.Load(), "the one that runs, and the one that was lost")

	f.fetchedLongAgo(late)
	assert.Equal(t, account.Complete, f.ended(late).State)
	letFinish()
	assert.Equal(t, account.Complete, f.ended(runs).State)
	assert.EqualValues(t, 3, calls.Load())
	attempts := 0
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(), `SELECT max(attempt) FROM river_job`).Scan(&attempts))
	assert.Equal(t, 1, attempts)
	f.used(3)
	f.empty()
}

// A job had been tried here before the fetch whose answer was lost: it was taken for one whose
// end River is still writing down, and ran in the table until its process was restarted.
func TestFetchAgainWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	onBoth(t, testFetchAgainWhoseAnswerIsLost)
}

func testFetchAgainWhoseAnswerIsLost(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	opts := options(1)
	var calls atomic.Int64
	begun, finish := make(chan struct{}), make(chan struct{})
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if calls.Add(1) == 1 {
			close(begun)
			<-finish
			return inference.Result{}, errors.New("not this time")
		}
		return good(ctx, r)
	}, opts)
	id := f.submit(1)[0]
	<-begun
	require.NoError(t, f.books.Write(t.Context(), func(tx *store.Tx) error {
		running, err := f.jobs.running(t.Context(), tx)
		require.Len(t, running, 1)
		for job, fetched := range running {
			assert.True(t, fetched.Equal(f.jobs.inFlight.jobs[job].fetched), "the table and the worker know one time")
		}
		return err
	}))
	paused := make(chan error)
	go func() { paused <- f.jobs.Pause(context.Background()) }()
	close(finish)
	require.NoError(t, <-paused)
	f.waits(id, "available", 0)
	f.fetch(1) // and nobody hears the answer
	require.NoError(t, f.jobs.Resume(t.Context()))
	f.fetchedLongAgo(id)
	f.inherit()
	assert.Equal(t, account.Complete, f.ended(id).State)
	assert.EqualValues(t, 2, calls.Load())
	f.used(1)
	f.empty()
}

// fetch fetches jobs for the process, as River does, and forgets the answer.
func (f *fixture) fetch(n int) {
	f.t.Helper()
	var queue riverdriver.Executor
	if pool := f.books.Postgres(); pool != nil {
		queue = riverpgxv5.New(pool).GetExecutor()
	} else {
		queue = riversqlite.New(f.books.SQLite()).GetExecutor()
	}
	jobs, err := queue.JobGetAvailable(f.t.Context(), &riverdriver.JobGetAvailableParams{
		ClientID: f.process.ID(), MaxAttemptedBy: 100, MaxToLock: n, Queue: river.QueueDefault,
	})
	require.NoError(f.t, err)
	require.Len(f.t, jobs, n)
}

// fetchedLongAgo has the last attempt of a detection's job begin in the past.
func (f *fixture) fetchedLongAgo(id string) {
	f.t.Helper()
	require.NoError(f.t, f.books.Write(f.t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(f.t.Context(), `UPDATE river_job SET attempted_at = '2000-01-01 00:00:00' WHERE args->>'id' = $1`, id)
		return err
	}))
}

// River may still be writing down how an attempt ended after it has, for as long as
// the database does not take it: until then the job is running in the table, and must
// not be given back.
func TestInFlight(t *testing.T) {
	t.Parallel()
	first := time.Now()
	again := first.Add(time.Minute)
	var f inFlight
	all, _ := f.list()
	assert.NotNil(t, all, "an array")
	for _, job := range []int64{1, 2, 3, 3, 4, 5} { // one of them by way of another process, too
		f.begin(job, first)
	}
	for _, job := range []int64{1, 2, 3, 4, 5} {
		f.end(job)
	}
	all, ended := f.list()
	assert.ElementsMatch(t, []int64{1, 2, 3, 4, 5}, all)
	assert.ElementsMatch(t, []int64{1, 2, 4, 5}, ended)
	f.begin(4, again) // meanwhile
	f.forget(ended, map[int64]time.Time{2: first, 3: first, 5: again})
	all, ended = f.list()
	assert.ElementsMatch(t, []int64{2, 3, 4}, all)
	assert.Equal(t, []int64{2}, ended)
	f.forget(ended, nil)
	all, _ = f.list()
	assert.ElementsMatch(t, []int64{3, 4}, all)
}

package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

func TestJobsEndInTheBooks(t *testing.T) {
	t.Parallel()
	onBoth(t, testJobsEndInTheBooks)
}

func testJobsEndInTheBooks(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	for name, c := range map[string]struct {
		detect detector
		failed string // the sentence; empty: it succeeds
		calls  int64
	}{
		"success":          {good, "", 1},
		"the file's fault": {failing(&preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "No media."}), "said No media.", 1},
		"ours, each time":  {failing(errors.New("broken")), "said broken", 3},
		"panic, each time": {
			func(context.Context, inference.Request) (inference.Result, error) { panic("ouch") },
			"said the analysis panicked: ouch", 3,
		},
		"an answer that can't be true": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: inference.Real, Confidence: 2, Kind: preprocess.Audio}, nil
		}, "said the detector gave the confidence 2", 3},
		"a verdict that is none": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: "perhaps", Kind: preprocess.Audio}, nil
		}, `said the detector gave the verdict "perhaps"`, 3},
		"a media type that is none": {func(context.Context, inference.Request) (inference.Result, error) {
			return inference.Result{Verdict: inference.Fake}, nil
		}, `said the detector gave the media type ""`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := atomic.Int64{}
			f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
				calls.Add(1)
				return c.detect(ctx, r)
			}, options(1))
			d := f.ended(f.submit(1)[0])
			assert.Equal(t, c.failed, d.Error)
			assert.Equal(t, c.calls, calls.Load(), "attempts")
			if c.failed == "" {
				assert.Equal(t, account.Complete, d.State)
				assert.InDelta(t, .75, d.Confidence, 0)
				f.used(1)
			} else {
				assert.Equal(t, account.Failed, d.State)
				f.used(0)
			}
			f.empty()
		})
	}
}

// The detector is given what was submitted, with background priority.
func TestRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, testRequest)
}

func testRequest(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	got := make(chan inference.Request, 1)
	content := make(chan string, 1)
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		text, _ := io.ReadAll(io.NewSectionReader(r.File, 0, r.Size))
		got <- r
		content <- string(text)
		return good(ctx, r)
	}, options(1))
	s, task, err := f.task(f.account)
	require.NoError(t, err)
	task.Declared = preprocess.Audio
	require.NoError(t, f.jobs.Submit(t.Context(), f.account, s, task))
	require.NoError(t, task.File.Close())
	r := <-got
	assert.Equal(t, task.ID, <-content)
	r.File = nil
	assert.Equal(t, inference.Request{
		Size: int64(len(task.ID)), Declared: preprocess.Audio, Sensitivity: inference.Strict,
		Account: f.account.ID, Priority: inference.Background,
	}, r)
	var report struct{ SHA256 string }
	require.NoError(t, json.Unmarshal(f.ended(task.ID).Report, &report))
	sum := sha256.Sum256([]byte(task.ID))
	assert.Equal(t, hex.EncodeToString(sum[:]), report.SHA256)
}

// What passes by itself costs a job nothing but time.
func TestAnotherAttemptSucceeds(t *testing.T) {
	t.Parallel()
	onBoth(t, testAnotherAttemptSucceeds)
}

func testAnotherAttemptSucceeds(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	calls := atomic.Int64{}
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		switch calls.Add(1) {
		case 1:
			return inference.Result{}, errors.New("no room on the disk")
		case 2:
			return inference.Result{}, &inference.SaturatedError{RetryAfter: time.Millisecond}
		}
		return good(ctx, r)
	}, options(1))
	assert.Equal(t, account.Complete, f.ended(f.submit(1)[0]).State)
	assert.EqualValues(t, 3, calls.Load())
	f.used(1)
	f.empty()
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, testQueueIsBounded)
}

func testQueueIsBounded(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	started, release := make(chan struct{}, 9), make(chan struct{})
	opts := options(2)
	opts.Queue = 1
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		started <- struct{}{}
		<-release
		return good(ctx, r)
	}, opts)
	ids := f.submit(1)
	<-started
	ids = append(ids, f.submit(1)...)
	<-started
	ids = append(ids, f.submit(1)...) // this one waits
	s, refused, err := f.task(f.account)
	require.NoError(t, err)
	var busy *inference.SaturatedError
	err = f.jobs.Submit(t.Context(), f.account, s, refused)
	require.ErrorAs(t, err, &busy)
	require.ErrorIs(t, err, ErrFull)
	assert.Equal(t, 7*time.Second, busy.RetryAfter)
	_, err = f.ledger.Detection(t.Context(), f.account, refused.ID)
	require.ErrorIs(t, err, account.ErrNotFound, "a refused submission is nowhere")
	require.NoError(t, refused.File.Close())
	close(release)
	for _, id := range ids {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
	f.used(3)
	f.empty()
}

// One account could have all that waits: whoever came next was refused until its jobs had
// been run. It has half of the queue, and leaves as much again to each other.
func TestNoAccountHasTheWholeQueue(t *testing.T) {
	t.Parallel()
	onBoth(t, testNoAccountHasTheWholeQueue)
}

func testNoAccountHasTheWholeQueue(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	opts := options(0)
	opts.Queue = 12
	f := setup(t, fresh(t), good, opts)
	bob := f.another()
	f.submit(6)
	_, err := f.place.submit(t.Context(), f.jobs, f.account)
	require.ErrorIs(t, err, ErrShare)
	var busy *inference.SaturatedError
	require.ErrorAs(t, err, &busy)
	for range 3 {
		_, err = f.place.submit(t.Context(), f.jobs, bob)
		require.NoError(t, err)
	}
	_, err = f.place.submit(t.Context(), f.jobs, bob)
	require.ErrorIs(t, err, ErrShare)
}

// The times of a job that has ended can be compared by SQLite, or it would never
// be forgotten: they were Go's own text once, zone and monotonic clock included.
func TestTimesAreComparable(t *testing.T) {
	t.Parallel()
	f := setup(t, where{t.TempDir(), ""}, good, options(1))
	f.ended(f.submit(1)[0])
	age := -1.0
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(),
		`SELECT julianday('now') - julianday(finalized_at) FROM river_job`).Scan(&age))
	assert.InDelta(t, 0, age, 1.0/24/60, "days since the end of the job")
}

// An account without room is refused in the transaction that would have queued
// the job.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	onBoth(t, testNoRoom)
}

func testNoRoom(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(1))
	f.account.Plan.Scans = 1
	f.ended(f.submit(1)[0])
	_, err := f.place.submit(t.Context(), f.jobs, f.account)
	require.ErrorIs(t, err, account.ErrQuotaExceeded)
	f.used(1)
	f.empty()
	n := 0
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n))
	assert.Equal(t, 1, n, "jobs")
}

// A service that is told to stop gives back what it can't finish: the next one
// runs it, with all its attempts.
func TestCloseGivesBack(t *testing.T) {
	t.Parallel()
	onBoth(t, testCloseGivesBack)
}

func testCloseGivesBack(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	running := make(chan struct{}, 9)
	opts := options(2)
	opts.Attempts = 1
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		running <- struct{}{}
		return untilStopped(ctx, r)
	}, opts)
	ids := f.submit(3)
	<-running
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f.jobs.Close(ctx), context.DeadlineExceeded)
	for _, id := range ids {
		d, err := f.ledger.Detection(t.Context(), f.account, id)
		require.NoError(t, err)
		assert.Equal(t, account.Processing, d.State)
	}
	late, err := f.place.submit(t.Context(), f.jobs, f.account) // of a request that was on its way
	require.NoError(t, err)

	f.start(good, opts)
	for _, id := range append(ids, late) {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
	f.used(4)
	f.empty()
}

func TestDeadlineOfOneJob(t *testing.T) {
	t.Parallel()
	onBoth(t, testDeadlineOfOneJob)
}

func testDeadlineOfOneJob(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	opts := options(1)
	opts.Deadline = 2 * time.Second // in which its upload is opened on a slow machine too
	f := setup(t, fresh(t), untilStopped, opts)
	d := f.ended(f.submit(1)[0])
	assert.Equal(t, account.Failed, d.State)
	assert.Contains(t, d.Error, ErrTooLate.Error())
	f.empty()
}

// Of sixteen long films with sixteen workers on two cores, from the eighth on each had used
// up its ten minutes while it waited for the others, and failed as one that took too long.
func TestWaitingIsNotTooLate(t *testing.T) {
	t.Parallel()
	opts := options(1)
	opts.Deadline = 5 * time.Second // which a slow machine keeps too
	f := setup(t, onSQLite(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		select {
		case <-time.After(opts.Deadline + time.Second): // its turn comes
		case <-ctx.Done():
			return inference.Result{}, ctx.Err()
		}
		_, err := r.File.Rewind()
		result, _ := good(ctx, r)
		return result, err
	}, opts)
	d := f.ended(f.submit(1)[0])
	assert.Equal(t, account.Complete, d.State, d.Error)
}

// What an earlier process left that no job belongs to.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	onBoth(t, testLeftBehind)
}

func testLeftBehind(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, Options{Workers: 0, Queue: 9, Attempts: 3, Retry: time.Second, Deadline: time.Minute, RetryAfter: time.Second})
	waits := f.submit(1)[0]
	s, orphan, err := f.task(f.account)
	require.NoError(t, err)
	require.NoError(t, f.spool.Park(t.Context(), orphan.ID, orphan.File)) // killed between the upload and the books
	require.NoError(t, orphan.File.Close())
	s.ID = account.NewDetectionID()
	require.NoError(t, f.ledger.Reserve(t.Context(), f.account, s)) // by a version that kept jobs in memory
	lost := f.submit(1)[0]
	require.NoError(t, f.spool.Discard(t.Context(), lost))
	require.NoError(t, f.jobs.Close(t.Context()))

	f.start(good, options(1))
	f.inherit()
	assert.Equal(t, account.Complete, f.ended(waits).State)
	assert.Equal(t, Interrupted, f.ended(s.ID).Error)
	assert.Contains(t, f.ended(lost).Error, spool.ErrLost.Error())
	f.used(1)
	if f.database != "" { // another process may be about to queue its job
		_, err := f.jobs.Sweep(t.Context())
		require.NoError(t, err)
		parked, err := f.spool.Parked(t.Context())
		require.NoError(t, err)
		require.Len(t, parked, 1)
		assert.Equal(t, orphan.ID, parked[0].Name)
	}
	f.swept()
}

// A result that comes when nobody wants it any more is not charged.
func TestLateResult(t *testing.T) {
	t.Parallel()
	onBoth(t, testLateResult)
}

func testLateResult(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(1))
	ctx, cancel := context.WithCancel(t.Context())
	_, task, err := f.task(f.account)
	require.NoError(t, err)
	defer func() { _ = task.File.Close() }()
	_, err = Judge(ctx, detector(func(c context.Context, r inference.Request) (inference.Result, error) {
		cancel()
		return good(c, r)
	}), task, inference.Interactive)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*Options){
		"workers":     func(o *Options) { o.Workers = -1 },
		"queue":       func(o *Options) { o.Queue = 0 },
		"attempts":    func(o *Options) { o.Attempts = 0 },
		"retry":       func(o *Options) { o.Retry = 0 },
		"deadline":    func(o *Options) { o.Deadline = 0 },
		"retry after": func(o *Options) { o.RetryAfter = 0 },
	} {
		opts := DefaultOptions()
		edit(&opts)
		_, err := New(t.Context(), Deps{}, opts)
		assert.ErrorContains(t, err, "jobs: "+name, name)
	}
	_, err := New(t.Context(), Deps{}, DefaultOptions())
	assert.ErrorContains(t, err, "detector, books, store, process, uploads")
}

// A job that does not end when it is cut short, as one in a device that hangs, kept its process for good:
// whoever stopped it had to kill it, and what it still had to tell the books was lost.
func TestCloseWaitsForNoJobThatHangs(t *testing.T) {
	t.Parallel()
	began, hangs := make(chan struct{}), make(chan struct{})
	f := setup(t, onSQLite(t), func(context.Context, inference.Request) (inference.Result, error) {
		close(began)
		<-hangs
		return inference.Result{}, context.Canceled
	}, options(1))
	f.submit(1)
	<-began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	giveUp := time.AfterFunc(unwinding+patience, func() { close(hangs) })
	require.ErrorIs(t, f.jobs.Close(ctx), context.Canceled)
	require.True(t, giveUp.Stop(), "it waits for the job")
	close(hangs)
	require.NoError(t, f.jobs.queue.StopAndCancel(t.Context())) // what it left behind has ended
}

package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
)

// failingUploads are those of a spool that go wrong at first.
type failingUploads struct {
	*spool.Spool

	opens, discards, parks atomic.Int64 // that fail
	err                    error
}

func (f *failingUploads) Open(ctx context.Context, name, sum string, size int64) (*spool.File, error) {
	if f.opens.Add(-1) >= 0 {
		return nil, f.err
	}
	return f.Spool.Open(ctx, name, sum, size)
}

func (f *failingUploads) Discard(ctx context.Context, name string) error {
	if f.discards.Add(-1) >= 0 {
		return f.err
	}
	return f.Spool.Discard(ctx, name)
}

func (f *failingUploads) Park(ctx context.Context, name string, file *spool.File) error {
	if f.parks.Add(-1) >= 0 {
		return f.err
	}
	return f.Spool.Park(ctx, name, file)
}

// failing has the fixture's next runner use uploads that fail.
func (f *fixture) failing(err error, opts Options) *failingUploads {
	f.t.Helper()
	require.NoError(f.t, f.jobs.Close(f.t.Context()))
	u := &failingUploads{Spool: f.spool, err: err}
	f.uploads = u
	f.start(good, opts)
	return u
}

// slowUploads are fetched at first for as long as one waits, and then say what those of a bucket do (its client gives
// the cause), or that the upload is lost.
type slowUploads struct {
	*spool.Spool

	lost        bool
	slow, opens atomic.Int64
}

func (s *slowUploads) Open(ctx context.Context, name, sum string, size int64) (*spool.File, error) {
	if s.opens.Add(1) > s.slow.Load() {
		return s.Spool.Open(ctx, name, sum, size)
	}
	<-ctx.Done()
	if s.lost {
		return nil, spool.ErrLost
	}
	return nil, fmt.Errorf("read the body: %w", context.Cause(ctx))
}

// An upload that was fetched until the deadline failed its job for good, as an analysis that had taken too long, though
// nothing had been analysed and the store was slow for that time alone. It costs an attempt; at the
// last one the client is told what has taken too long, which it once was not. From a bucket it went on failing for good, as
// the bucket's client says why it has stopped; and what was said to be lost only then cost no attempt at all.
func TestUploadsAreSlow(t *testing.T) {
	t.Parallel()
	for slow, want := range map[int64]account.State{1: account.Complete, 3: account.Failed} {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, lost %v", want, lost), func(t *testing.T) {
				t.Parallel()
				opts := options(1)
				f := setup(t, onSQLite(t), good, opts)
				require.NoError(t, f.jobs.Close(t.Context()))
				u := &slowUploads{Spool: f.spool, lost: lost}
				u.slow.Store(slow)
				f.uploads = u
				opts.Deadline = 200 * time.Millisecond
				if want == account.Complete { // which a slow machine is to do within it
					opts.Deadline = 5 * time.Second
				}
				f.start(good, opts)
				d := f.ended(f.submit(1)[0])
				assert.Equal(t, want, d.State)
				if want == account.Failed {
					assert.Contains(t, d.Error, ErrSlow.Error())
					assert.EqualValues(t, opts.Attempts, u.opens.Load())
				}
				f.empty()
			})
		}
	}
}

// A store that is away, or a spool that is full, costs no attempt: with a single
// one the job succeeds all the same. It was observed as tried again. While the process
// had no file descriptors left, each attempt cost one.
func TestUploadsAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, err := range []error{spool.ErrAway, spool.ErrFull, syscall.EMFILE} {
		t.Run(err.Error(), func(t *testing.T) {
			t.Parallel()
			opts, seen := options(1), &observed{}
			opts.Attempts, opts.Observer = 1, seen
			f := setup(t, onSQLite(t), good, opts)
			f.failing(err, opts).opens.Store(2)
			assert.Equal(t, account.Complete, f.ended(f.submit(1)[0]).State)
			assert.Eventually(t, func() bool { return len(seen.seen()) == 3 }, patience, time.Millisecond)
			assert.Equal(t, []End{Postponed, Postponed, Complete}, seen.seen())
			f.used(1)
			f.empty()
		})
	}
}

// While the disk of the uploads was not mounted every job that waited failed for
// good. It waits for the disk, at no attempt's cost, and no other is accepted onto
// what lies at the disk's path meanwhile.
func TestUploadsFolderGoesAway(t *testing.T) {
	t.Parallel()
	opts, seen := options(0), &observed{}
	opts.Attempts, opts.Shared, opts.Observer = 1, true, seen
	f := setup(t, onSQLite(t), good, opts)
	id := f.submit(1)[0]
	jobs, elsewhere := filepath.Join(f.data, "jobs"), filepath.Join(f.data, "elsewhere")
	opts.Workers = 1
	var err error
	f.jobs, err = f.runner(t.Context(), good, opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.jobs.Close(context.Background())) })
	require.NoError(t, os.Rename(jobs, elsewhere))
	require.NoError(t, os.Mkdir(jobs, 0o700))
	require.NoError(t, f.jobs.Start(t.Context()))
	require.Eventually(t, func() bool { return len(seen.seen()) > 0 }, patience, time.Millisecond)
	_, err = f.place.submit(t.Context(), f.jobs, f.account)
	require.ErrorIs(t, err, spool.ErrAway)
	require.NoError(t, os.Remove(jobs))
	require.NoError(t, os.Rename(elsewhere, jobs))
	assert.Equal(t, account.Complete, f.ended(id).State)
	f.used(1)
	f.empty()
}

// While the folder of kept uploads was not mounted every job that waited failed for good
// within seconds. They wait for it, at no attempt's cost.
func TestKeptUploadsFolderGoesAway(t *testing.T) {
	t.Parallel()
	f := enter(t, onSQLite(t))
	kept, elsewhere := filepath.Join(f.data, "uploads"), filepath.Join(f.data, "elsewhere")
	var err error
	f.spool, err = spool.New(spool.Options{
		Dir: filepath.Join(f.data, "spool"), Park: filepath.Join(f.data, "jobs"), Kept: kept, Keep: true, Names: account.DetectionPrefix,
	})
	require.NoError(t, err)
	f.uploads = f.spool
	require.NoError(t, os.Rename(kept, elsewhere))
	opts, seen := options(1), &observed{}
	opts.Attempts, opts.Observer = 1, seen
	f.start(func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if _, err := r.File.Rewind(); err != nil {
			return inference.Result{}, err
		}
		return good(ctx, r)
	}, opts)
	id := f.submit(1)[0]
	require.Eventually(t, func() bool { return len(seen.seen()) > 0 }, patience, time.Millisecond)
	require.NoError(t, os.Rename(elsewhere, kept))
	assert.Equal(t, account.Complete, f.ended(id).State)
	assert.FileExists(t, filepath.Join(kept, id))
	f.used(1)
	f.empty()
}

// One wrong answer, such as the 404 of a proxy or its page with 200, ended an accepted job
// for good, and its upload was deleted, which was whole. It costs an attempt, and is
// believed at the last.
func TestUploadsThatAreGone(t *testing.T) {
	t.Parallel()
	for _, err := range []error{spool.ErrLost, spool.ErrDamaged} {
		for name, c := range map[string]struct {
			opens int64 // that fail
			seen  []End
			used  int
		}{
			"once":      {1, []End{Retried, Complete}, 1},
			"twice":     {2, []End{Retried, Retried, Complete}, 1},
			"each time": {3, []End{Retried, Retried, GaveUp}, 0},
		} {
			t.Run(err.Error()+", "+name, func(t *testing.T) {
				t.Parallel()
				opts, seen := options(1), &observed{}
				opts.Observer = seen
				f := setup(t, onSQLite(t), good, opts)
				f.failing(err, opts).opens.Store(c.opens)
				d := f.ended(f.submit(1)[0])
				if c.used == 0 {
					assert.Equal(t, account.Failed, d.State)
					assert.Equal(t, "said "+err.Error(), d.Error)
				} else {
					assert.Equal(t, account.Complete, d.State)
				}
				assert.Eventually(t, func() bool { return len(seen.seen()) == len(c.seen) }, patience, time.Millisecond)
				assert.Equal(t, c.seen, seen.seen())
				f.used(c.used)
				f.empty()
			})
		}
	}
}

// What can't be put into the store is not accepted, and takes no place.
func TestUploadsThatCanNotBeParked(t *testing.T) {
	t.Parallel()
	opts := options(1)
	opts.Queue = 2
	f := setup(t, onSQLite(t), good, opts)
	u := f.failing(spool.ErrAway, opts)
	u.parks.Store(2)
	for range 2 {
		_, err := f.place.submit(t.Context(), f.jobs, f.account)
		require.ErrorIs(t, err, spool.ErrAway)
	}
	f.used(0)
	f.ended(f.submit(1)[0])
	f.used(1)
	f.empty()
}

// lostAnswers are uploads of a store that takes what is parked, and does not get to say so.
type lostAnswers struct{ *spool.Spool }

func (l lostAnswers) Park(ctx context.Context, name string, f *spool.File) error {
	return errors.Join(l.Spool.Park(ctx, name, f), spool.ErrAway)
}

// An upload of which only the store's answer was lost stayed there for an hour, although the client was told that
// it could not be put into the store.
func TestParkedInSpiteOfAnError(t *testing.T) {
	t.Parallel()
	f := enter(t, onSQLite(t))
	f.uploads = lostAnswers{f.spool}
	f.start(good, options(1))
	_, err := f.place.submit(t.Context(), f.jobs, f.account)
	require.ErrorIs(t, err, spool.ErrAway)
	n, err := f.jobs.Clear(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	f.used(0)
	f.empty()
}

// So did the upload of a submission that the books refused, where the store would not let it go.
func TestRefusedByTheBooksAndLeft(t *testing.T) {
	t.Parallel()
	f := setup(t, onSQLite(t), good, options(1))
	f.failing(spool.ErrAway, options(1)).discards.Store(1)
	stranger := f.account
	stranger.ID = "acc_nobody"
	_, err := f.place.submit(t.Context(), f.jobs, stranger)
	require.ErrorIs(t, err, spool.ErrAway)
	n, err := f.jobs.Clear(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	f.empty()
}

// While a store is away each submission may have left something: it is not remembered
// without bounds.
func TestLeftoversAreBounded(t *testing.T) {
	t.Parallel()
	var l leftovers
	for range 2 * mostLeft {
		l.add(account.NewDetectionID())
	}
	assert.Len(t, l.list(), mostLeft)
}

// What the store would not let go when the analysis ended goes as soon as it does.
func TestClear(t *testing.T) {
	t.Parallel()
	f := setup(t, onSQLite(t), good, options(1))
	f.failing(spool.ErrAway, options(1)).discards.Store(2)
	f.ended(f.submit(1)[0])
	require.NoError(t, f.jobs.Close(t.Context())) // the removal follows the result
	_, err := f.jobs.Clear(t.Context())
	require.ErrorIs(t, err, spool.ErrAway)
	n, err := f.jobs.Clear(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	f.empty()
	n, err = f.jobs.Clear(t.Context())
	require.NoError(t, err)
	assert.Zero(t, n)
}

// An upload that could not be removed after its analysis goes when it is old,
// with what a killed process left; what has a job, is young, or is not ours stays.
func TestSweep(t *testing.T) {
	t.Parallel()
	opts := options(1)
	opts.Shared = true
	f := setup(t, onSQLite(t), good, opts)
	u := f.failing(errors.New("no rights"), opts)
	u.discards.Store(1)
	stuck := f.submit(1)[0]
	f.ended(stuck)
	require.NoError(t, f.jobs.Close(t.Context()))
	require.FileExists(t, filepath.Join(f.data, "jobs", stuck))
	idle := opts
	idle.Workers = 0
	f.start(good, idle)
	waits, long := f.submit(1)[0], time.Now().Add(-2*time.Hour)
	names := map[string]bool{
		stuck: false, account.NewDetectionID(): false, // killed between the upload and the books
		waits: true, "report.pdf": true, account.NewDetectionID(): true,
	}
	young := ""
	for name, stays := range names {
		path := filepath.Join(f.data, "jobs", name)
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
		if stays && name != waits && name != "report.pdf" {
			young = name
			continue
		}
		require.NoError(t, os.Chtimes(path, long, long))
	}
	n, err := f.jobs.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	for name, stays := range names {
		_, err := os.Stat(filepath.Join(f.data, "jobs", name))
		assert.Equal(t, stays, err == nil, name)
	}
	f.start(good, opts) // shared: it takes nothing for left behind
	f.ended(waits)
	_, err = os.Stat(filepath.Join(f.data, "jobs", young))
	assert.NoError(t, err)
}

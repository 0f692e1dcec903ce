package job

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/spool"
)

// open makes a runner whose uploads wait in a folder of that name, which is new where
// it was not used before.
func (f *fixture) open(folder string, edit ...func(*Options)) error {
	f.t.Helper()
	park, err := spool.New(spool.Options{Dir: f.t.TempDir(), Park: filepath.Join(f.data, folder)})
	require.NoError(f.t, err)
	f.spool, f.uploads = park, park
	opts := options(0)
	opts.Shared = true
	for _, e := range edit {
		e(&opts)
	}
	f.jobs, err = f.runner(f.t.Context(), good, opts)
	return err
}

// marks are the names of the marks that a folder bears.
func (f *fixture) marks(folder string) []string {
	f.t.Helper()
	found, err := filepath.Glob(filepath.Join(f.data, folder, ".deepfaked-of-*"))
	require.NoError(f.t, err)
	return found
}

// A worker whose --uploads was another bucket than the servers' failed all jobs that waited
// within a tenth of a second, as lost; so did one that was given none, on another machine.
func TestUploadsThatWaitElsewhere(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	f := enter(t, w)
	require.NoError(t, f.open("a"))
	other := enter(t, w)
	require.NoError(t, other.open("a"), "the same place")
	require.ErrorIs(t, other.open("b"), ErrElsewhere)
	require.NoError(t, f.process.Leave())
	require.NoError(t, other.open("b"), "nobody is at work there any more, and nothing waits")
}

// A process that was cut off from the database, so that its uploads could move, came back and
// accepted jobs into the old place: those that ran them failed them as lost. So did it with
// theirs.
func TestUploadsThatMovedWhileAProcessWasCutOff(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	back, other := enter(t, w), enter(t, w)
	works := func(o *Options) { o.Workers = 1 }
	require.NoError(t, back.open("a", works))
	require.NoError(t, back.process.Leave()) // to the others it is silent
	require.NoError(t, other.open("b"))

	_, err := back.place.submit(t.Context(), back.jobs, back.account)
	require.ErrorIs(t, err, ErrElsewhere)
	require.ErrorIs(t, err, spool.ErrAway)
	require.ErrorContains(t, err, "wait in another place: give all its processes the same --uploads")
	back.empty()
	id := other.submit(1)[0]
	require.NoError(t, back.jobs.Start(t.Context()))
	waited := func() (yes bool) {
		require.NoError(t, other.books.Reader().QueryRowContext(t.Context(), `SELECT metadata->>'snoozes' IS NOT NULL OR state = 'completed' FROM river_job`).Scan(&yes))
		return yes
	}
	require.Eventually(t, waited, patience, 5*time.Millisecond)
	require.NoError(t, back.jobs.Close(t.Context()))
	require.NoError(t, other.open("b", works))
	require.NoError(t, other.jobs.Start(t.Context()))
	assert.Equal(t, account.Complete, other.ended(id).State)
	require.NoError(t, other.jobs.Close(t.Context()))
	other.used(1)
}

// A place may be left while nothing waits in it, and come back to.
func TestUploadsMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f := enter(t, fresh(t))
		for _, folder := range []string{"a", "b", "a"} {
			require.NoError(t, f.open(folder))
		}
		f.submit(1)
		require.ErrorIs(t, f.open("b"), ErrElsewhere, "a job waits")
		require.NoError(t, f.open("a"))
		require.Len(t, f.marks("a"), 1)
		require.NoError(t, os.Remove(f.marks("a")[0]))
		require.NoError(t, f.open("a"), "what waits is there, with a mark or without")
		require.Len(t, f.marks("a"), 1)
		require.NoError(t, f.open("b", func(o *Options) { o.Adopt = true }))
		require.NoError(t, f.open("b"))
	})
}

// A bucket had a rule by which objects expire, and the mark was the first: from then on each process that
// was restarted was refused, as if its --uploads were wrong. One that is at work gives the mark back,
// but not to a place that uploads have left, or that another database has taken meanwhile.
func TestUploadsWhoseMarkIsLost(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	f, next := enter(t, w), enter(t, w)
	require.NoError(t, f.open("a"))
	mark := f.marks("a")[0]
	require.NoError(t, os.Remove(mark))
	err := next.open("a")
	require.ErrorIs(t, err, ErrElsewhere)
	require.ErrorContains(t, err, "has lost its mark")
	require.ErrorContains(t, err, filepath.Base(mark), "what to make")
	_, err = f.jobs.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{mark}, f.marks("a"))
	require.NoError(t, next.open("a"))

	require.NoError(t, os.Remove(mark))
	require.NoError(t, f.uploads.Own(t.Context(), "THEIRS"))
	_, err = f.jobs.Sweep(t.Context())
	require.ErrorIs(t, err, ErrForeign)
	assert.NoFileExists(t, mark)
	require.NoError(t, f.jobs.note(t.Context(), home{"ELSEWHERE", true}))
	_, err = f.jobs.Sweep(t.Context())
	require.NoError(t, err)
	assert.NoFileExists(t, mark)
}

// A process without --database, and so with an empty one of its own, removed the uploads of
// all jobs that had waited for an hour, as no job of its own needed them.
func TestUploadsOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f, stranger := enter(t, fresh(t)), enter(t, fresh(t))
		require.NoError(t, f.open("a"))
		theirs, err := filepath.Rel(stranger.data, filepath.Join(f.data, "a"))
		require.NoError(t, err)
		require.ErrorIs(t, stranger.open(theirs), ErrForeign)
		require.NoError(t, stranger.open("b"))
		require.ErrorIs(t, stranger.open(theirs), ErrForeign, "nor can it move there")
	})
}

// A process that ended before its place bore the mark, or before it was noted, is not in the
// way of the next, wherever that is.
func TestUploadsWhoseMarkWasBegun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f := enter(t, fresh(t))
		require.NoError(t, f.open("a"))
		require.NoError(t, f.jobs.note(t.Context(), home{"M", false}))
		require.NoError(t, f.open("b"))
		require.NoError(t, f.jobs.note(t.Context(), home{"N", false}))
		require.NoError(t, f.uploads.Own(t.Context(), "N"))
		require.NoError(t, f.open("c"))
		assert.NotContains(t, f.marks("c"), filepath.Join(f.data, "c", ".deepfaked-of-N"), "b and c would be one place")
		require.NoError(t, f.open("b"))
	})
}

// A job whose upload was in the data folder failed as lost when the service was started with
// --uploads, and so did those of a bucket when it was started without.
func TestUploadsLeaveTheDataFolder(t *testing.T) {
	t.Parallel()
	own := func(o *Options) { o.Shared = false }
	f := enter(t, onSQLite(t))
	require.NoError(t, f.open("jobs", own))
	assert.Empty(t, f.marks("jobs"))
	f.submit(1)
	require.ErrorIs(t, f.open("b"), ErrElsewhere)
	require.NoError(t, f.open("jobs", own))
	f = enter(t, onSQLite(t))
	require.NoError(t, f.open("b"))
	f.submit(1)
	require.ErrorIs(t, f.open("jobs", own), ErrElsewhere)
}

// Two databases that come to a place at the same moment both marked it, and both went on.
func TestUploadsThatTwoDatabasesTake(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f := enter(t, fresh(t))
		require.NoError(t, f.open("a"))
		require.NoError(t, f.uploads.Own(t.Context(), "THEIRS"))
		require.NoError(t, f.open("a"), "whose it was before")
		require.ErrorIs(t, f.jobs.moveTo(t.Context(), nil, "OURS"), ErrForeign)
	})
}

// While the database can't say whether uploads wait elsewhere now, one that is not here is not
// taken for lost: its job would fail for good.
func TestNothingIsLostWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	p, err := openPlace(t.Context(), onSQLite(t))
	require.NoError(t, err)
	r, err := p.runner(t.Context(), good, DefaultOptions())
	require.NoError(t, err)
	require.ErrorIs(t, r.missing(t.Context(), spool.ErrLost), spool.ErrLost)
	require.NoError(t, p.close())
	err = r.missing(t.Context(), spool.ErrLost)
	require.ErrorIs(t, err, spool.ErrAway)
	require.NotErrorIs(t, err, spool.ErrLost)
}

package job

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/spool"
)

// open makes a runner whose uploads wait in a folder of that name, which is new where
// it was not used before.
func (f *fixture) open(folder string) error {
	f.t.Helper()
	park, err := spool.New(spool.Options{Dir: f.t.TempDir(), Park: filepath.Join(f.data, folder)})
	require.NoError(f.t, err)
	f.uploads = park
	opts := options(0)
	opts.Shared = true
	f.jobs, err = f.runner(f.t.Context(), good, opts)
	return err
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
	})
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

// A process that ended before its place bore the mark is not in the way of the next.
func TestUploadsWhoseMarkIsMissing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f := enter(t, fresh(t))
		require.NoError(t, f.open("a"))
		require.NoError(t, f.jobs.note(t.Context(), home{"M", false}))
		require.NoError(t, f.open("b"))
		owners, err := f.uploads.Owners(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"M"}, owners)
	})
}

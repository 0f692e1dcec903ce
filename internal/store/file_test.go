package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOpenAFolderThatIsAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	for _, dir := range []string{path, filepath.Join(path, "below")} {
		_, err := Open(t.Context(), dir, DefaultOptions())
		assert.ErrorContains(t, err, "is not a folder", dir)
	}
}

// asNobody runs fn with the file permissions of a user who owns nothing, which
// is the only way to be refused when the tests run as root.
func asNobody(t *testing.T, fn func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		fn()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, syscall.Setfsuid(65534))
	defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	fn()
}

func TestOpenAReadOnlyFolder(t *testing.T) {
	t.Parallel()
	used := t.TempDir()
	s := open(t, used)
	require.NoError(t, s.Close())
	empty := t.TempDir()
	for _, dir := range []string{used, empty} {
		require.NoError(t, os.Chmod(dir, 0o500))
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	}
	for name, dir := range map[string]string{
		"with a database": used, "empty": empty, "absent": filepath.Join(empty, "data"),
	} {
		t.Run(name, func(t *testing.T) {
			asNobody(t, func() {
				_, err := Open(t.Context(), dir, DefaultOptions())
				require.ErrorContains(t, err, "can't be written to by this user")
				assert.ErrorContains(t, err, dir)
				assert.ErrorIs(t, err, fs.ErrPermission)
			})
		})
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"read-only", syscall.EROFS, "the data folder /d is on a read-only file system"},
		{"not allowed", syscall.EACCES, "the data folder /d can't be written to by this user"},
		{"full", syscall.ENOSPC, "there is no space left for the data folder /d"},
		{"over quota", syscall.EDQUOT, "there is no space left for the data folder /d"},
		{"a file", syscall.ENOTDIR, "the data folder /d is not a folder"},
		{"other", syscall.EIO, "use the data folder /d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := explain("/d", &fs.PathError{Op: "open", Path: "/d/x", Err: tt.err})
			require.ErrorContains(t, err, tt.want)
			assert.ErrorIs(t, err, tt.err)
		})
	}
}

// "keys list" ended in "operation not permitted" where the file was another user's who lets a group write to it, as the
// permissions of such a file can't be changed.
func TestReadAnotherUsersDatabase(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("takes a second user")
	}
	dir := t.TempDir()
	require.NoError(t, open(t, dir).Close())
	for name, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o777, filepath.Join(dir, FileName): 0o666} {
		require.NoError(t, os.Chmod(name, mode))
	}
	opts := DefaultOptions()
	opts.Reading = true
	asNobody(t, func() {
		s, err := Open(t.Context(), dir, opts)
		require.NoError(t, err)
		assert.NoError(t, s.Close())
	})
}

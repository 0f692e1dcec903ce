//go:build gocv_specific_modules

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/store"
)

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, options)
	if errors.Is(err, unix.EPERM) {
		t.Skip("mounting a small file system is not allowed here: run the tests as root")
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unix.Unmount(dir, 0)) })
	return dir
}

// occupy fills a file system up and returns the file that does.
func occupy(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	file, err := os.Create(path)
	require.NoError(t, err)
	_, err = io.Copy(file, zeroes{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, file.Close())
	return path
}

// zeroes never ends.
type zeroes struct{}

// Read implements io.Reader.
func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A disk that is full is the service's own error for what needs room, and nothing
// is to be done when there is room again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "size=16m")
	key := newKey(t, data, "patient", "pro")
	s, end := spawn(t, data)
	s.detect(t, key, somePicture(t)).judged(t)

	filler := occupy(t, data)
	for _, async := range []string{"false", "true"} {
		s.detect(t, key, somePicture(t), "async", async).want(t, 500, "internal_error")
	}
	assert.InDelta(t, 1, s.usage(t, key), 0, "what only reads goes on")

	require.NoError(t, os.Remove(filler))
	s.detect(t, key, somePicture(t)).judged(t)
	a := s.detect(t, key, somePicture(t), "async", "true")
	require.Equal(t, 202, a.status, a.raw)
	assert.Equal(t, "complete", s.finished(t, key, a.id())["status"])
	assert.InDelta(t, 3, s.usage(t, key), 0)
	assert.Zero(t, end(unix.SIGTERM))
}

// A start on a disk that has become full said "enter the process: commit: database or disk is full (13)",
// or of a database that had been closed in order "disk I/O error (4874)", and named no folder.
func TestAStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"stopped": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := smallDisk(t, "size=2m")
			newKey(t, data, "patient", "pro")
			if !closed {
				books, err := store.Open(t.Context(), data, store.DefaultOptions())
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, books.Close()) })
			}
			occupy(t, data)
			call(t, "serve", "--listen", "127.0.0.1:0", "--data", data).refused(t, exitFailed, "there is no space left for the data folder "+data+": ")
		})
	}
}

// What can't be written to is said at the start.
func TestDisksRefused(t *testing.T) {
	t.Parallel()
	full, fixed := smallDisk(t, "size=64k"), smallDisk(t, "size=1m")
	occupy(t, full)
	require.NoError(t, unix.Mount("", fixed, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"keys", "create", "--account", "a", "--plan", "pro"}} {
		call(t, append(command, "--data", full)...).refused(t, exitFailed, full, "full")
		call(t, append(command, "--data", fixed)...).refused(t, exitFailed, fixed, "read-only file system", "--data")
	}
}

// A key that the full disk of a service that runs had no room for was told of as "create a key: commit: database or disk is full (13)",
// which names no disk.
func TestKeysOnAFullDisk(t *testing.T) {
	t.Parallel()
	data := smallDisk(t, "size=2m")
	key := newKey(t, data, "patient", "pro")
	books, err := store.Open(t.Context(), data, store.DefaultOptions()) // the memory that it shares needs no room any more
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, books.Close()) })
	occupy(t, data)
	for _, args := range [][]string{
		{"create", "--account", "another", "--plan", "pro"}, {"plan", "patient", "free"}, {"revoke", key},
	} {
		call(t, append([]string{"keys", args[0], "--data", data}, args[1:]...)...).refused(t, exitFailed, "there is no space left for the data folder "+data+": ")
	}
}

// The keys in a backup on a disk that was mounted for reading could not be listed: a file was to be made beside them.
func TestKeysOfADiskForReading(t *testing.T) {
	t.Parallel()
	for name, used := range map[string]bool{"stopped": false, "in use": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, fixed := smallDisk(t, "size=2m"), t.TempDir()
			require.NoError(t, unix.Mount(data, fixed, "", unix.MS_BIND, ""))
			t.Cleanup(func() { assert.NoError(t, unix.Unmount(fixed, 0)) })
			require.NoError(t, unix.Mount("", fixed, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
			keys := []string{newKey(t, data, "patient", "pro")}
			if used {
				books, err := store.Open(t.Context(), data, store.DefaultOptions())
				require.NoError(t, err)
				t.Cleanup(func() { assert.NoError(t, books.Close()) })
				keys = append(keys, newKey(t, data, "another", "free"))
			}
			list := call(t, "keys", "list", "--data", fixed).ok(t)
			for _, key := range keys {
				assert.Contains(t, list, idOf(key))
			}
			call(t, "keys", "revoke", "--data", fixed, keys[0]).refused(t, exitFailed, fixed, "read-only file system")
		})
	}
}

// What a service that was killed has left on a disk that can't be written to is read. A copy without the memory
// that SQLite shared can't be, and it is said what to do.
func TestKeysOfAKilledServiceForReading(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	newKey(t, data, "patient", "pro")
	books, err := store.Open(t.Context(), data, store.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, books.Close()) })
	key := newKey(t, data, "another", "free")
	left := func(names ...string) said {
		fixed := smallDisk(t, "size=2m")
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(data, store.FileName+name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(fixed, store.FileName+name), content, 0o600))
		}
		require.NoError(t, unix.Mount("", fixed, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
		return call(t, "keys", "list", "--data", fixed)
	}
	assert.Contains(t, left("", "-wal", "-shm").ok(t), idOf(key))
	left("", "-wal").refused(t, exitFailed, "was not closed in order", "copy the data folder")
}

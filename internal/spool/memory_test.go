package spool_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/spool"
)

// withMemory is a spool whose small files may take so much memory.
func withMemory(t *testing.T, memory int64) *spool.Spool {
	t.Helper()
	dir := t.TempDir()
	s, err := spool.New(spool.Options{Dir: filepath.Join(dir, "spool"), Park: filepath.Join(dir, "jobs"), Memory: memory})
	require.NoError(t, err)
	return s
}

// upload writes in pieces of 10,000 bytes.
func upload(t *testing.T, s *spool.Spool, content []byte) *spool.File {
	t.Helper()
	f, err := s.Create()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	for rest := content; len(rest) > 0; rest = rest[min(len(rest), 10_000):] {
		n, err := f.Write(rest[:min(len(rest), 10_000)])
		require.NoError(t, err)
		require.Equal(t, min(len(rest), 10_000), n)
	}
	return f
}

// inMemory says where a file lies, and that it holds content.
func inMemory(t *testing.T, f *spool.File, content []byte) bool {
	t.Helper()
	file, err := f.Rewind()
	require.NoError(t, err)
	got, err := io.ReadAll(file)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(content, got), "%d bytes of %d", len(got), len(content))
	place, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
	require.NoError(t, err)
	return strings.HasPrefix(place, "/memfd:")
}

func content(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i * 31)
	}
	return out
}

// A nameless file on a disk took three times as long as a small upload takes in
// memory, and a service that refused half of what came spent 4 % of its time on them.
func TestSmallUploadsAreInMemory(t *testing.T) {
	t.Parallel()
	s := withMemory(t, 2<<20)
	for size, want := range map[int]bool{0: true, 1: true, 1 << 20: true, 1<<20 + 1: false, 3 << 20: false} {
		f := upload(t, s, content(size))
		assert.Equal(t, want, inMemory(t, f, content(size)), "%d bytes", size)
		assert.EqualValues(t, size, f.Size())
		_, held := s.Usage()
		assert.EqualValues(t, size, held)
		require.NoError(t, f.Close())
	}
	assert.False(t, inMemory(t, upload(t, withMemory(t, 0), content(9)), content(9)), "none may be")
}

// Films of 3 MB went to the disk, and their hashes were taken, to be refused then: with eight
// clients that each sent the next at once two cores had no time left to judge one within its
// deadline.
func TestLargerUploadsLeaveMemoryToOthers(t *testing.T) {
	t.Parallel()
	s := withMemory(t, 64<<20)
	for i, c := range []struct {
		size int
		want bool
	}{{16<<20 + 1, false}, {16 << 20, true}, {8<<20 + 1, false}, {8 << 20, true}, {4 << 20, true}, {3 << 20, false}, {1 << 20, true}} {
		f := upload(t, s, content(c.size))
		assert.Equal(t, c.want, inMemory(t, f, content(c.size)), "%d: %d bytes", i, c.size)
	}
	for range 32 {
		assert.True(t, inMemory(t, upload(t, s, content(1<<20)), content(1<<20)), "half is for small ones")
	}
}

// A small upload can be looked at, kept, hashed and closed before it is a file.
func TestSmallUploadsAreHeld(t *testing.T) {
	t.Parallel()
	s := withMemory(t, 1<<20)
	want := content(50_000)
	sum := sha256.Sum256(want)
	f := upload(t, s, want)
	for range 2 { // before it is a file, and after
		assert.Equal(t, hex.EncodeToString(sum[:]), f.SHA256())
		got := make([]byte, 20)
		n, err := f.ReadAt(got, 49_990)
		assert.Equal(t, 10, n)
		assert.ErrorIs(t, err, io.EOF)
		assert.Equal(t, want[49_990:], got[:n])
		assert.True(t, inMemory(t, f, want))
	}
	require.NoError(t, f.Close())
	assert.Equal(t, hex.EncodeToString(sum[:]), f.SHA256())
	held := upload(t, s, want)
	require.NoError(t, held.Close())
	_, err := held.ReadAt(make([]byte, 1), 0)
	assert.ErrorIs(t, err, os.ErrClosed, "its buffer may be another's by now")
	_, err = held.Rewind()
	assert.ErrorIs(t, err, os.ErrClosed)
	_, err = held.Write(want)
	assert.ErrorIs(t, err, os.ErrClosed)
	_, err = held.Write(content(1 << 20)) // more than is held
	assert.ErrorIs(t, err, os.ErrClosed)
	assert.Empty(t, held.SHA256(), "not that of nothing")
	files, size := s.Usage()
	assert.Zero(t, files)
	assert.Zero(t, size)
	empty := upload(t, s, nil)
	assert.Equal(t, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", empty.SHA256())
	_, err = empty.ReadAt(make([]byte, 1), 0)
	assert.ErrorIs(t, err, io.EOF)
}

// The hash is of all that was written, wherever it lay meanwhile.
func TestUploadsThatGrowAreHashed(t *testing.T) {
	t.Parallel()
	s, want := withMemory(t, 2<<20), content(1_300_000)
	sum := sha256.Sum256(want)
	for name, asked := range map[string]bool{"held until it grew": false, "a file in memory before": true} {
		f := upload(t, s, want[:600_000])
		if asked {
			require.True(t, inMemory(t, f, want[:600_000]), name)
		}
		_, err := f.Write(want[600_000:])
		require.NoError(t, err)
		assert.Equal(t, hex.EncodeToString(sum[:]), f.SHA256(), name)
		assert.False(t, inMemory(t, f, want), name)
	}
}

// Uploads take no more memory than they may, and give it back: when they are closed,
// and when they grow.
func TestUploadsTakeNoMoreMemoryThanTheyMay(t *testing.T) {
	t.Parallel()
	s := withMemory(t, 300_000)
	one, two := upload(t, s, content(200_000)), upload(t, s, content(200_000))
	assert.True(t, inMemory(t, one, content(200_000)))
	assert.False(t, inMemory(t, two, content(200_000)))
	_, err := one.Write(content(100_001))
	require.NoError(t, err)
	assert.False(t, inMemory(t, one, append(content(200_000), content(100_001)...)))
	three := upload(t, s, content(250_000))
	assert.True(t, inMemory(t, three, content(250_000)))
	require.NoError(t, three.Close())
	require.NoError(t, three.Close())
	assert.True(t, inMemory(t, upload(t, s, content(250_000)), content(250_000)))
}

// What is parked is on the disk, wherever it was before.
func TestASmallUploadIsParked(t *testing.T) {
	t.Parallel()
	s := withMemory(t, 1<<20)
	f := upload(t, s, content(5000))
	require.NoError(t, f.Park("one"))
	sum := f.SHA256()
	require.NoError(t, f.Close())
	again, err := s.Open(t.Context(), "one", sum, 5000)
	require.NoError(t, err)
	assert.False(t, inMemory(t, again, content(5000)))
	require.NoError(t, again.Close())
	require.NoError(t, s.Discard(t.Context(), "one"))
	files, held := s.Usage()
	assert.Zero(t, files)
	assert.Zero(t, held)
}

package bucket

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"deepfaked/internal/bucket/buckettest"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
)

// store is one place for uploads, as two processes see it.
type store struct {
	uploads, other job.Uploads
	spool          *spool.Spool // of the first process
	remote         bool         // opening fetches and hashes
	network        bool         // and takes time
	change         func(name string, to []byte)
}

func newSpool(t *testing.T, park string, capacity int64) *spool.Spool {
	t.Helper()
	s, err := spool.New(spool.Options{Dir: filepath.Join(t.TempDir(), "spool"), Park: park, Capacity: capacity, Memory: 1 << 20})
	require.NoError(t, err)
	return s
}

const room = 64 << 20

// stores makes one of each kind.
var stores = map[string]func(*testing.T) *store{
	"a folder": func(t *testing.T) *store {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "jobs")
		s := newSpool(t, dir, room)
		return &store{uploads: s, other: newSpool(t, dir, room), spool: s, change: func(name string, to []byte) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), to, 0o600))
		}}
	},
	"a bucket in memory": func(t *testing.T) *store {
		t.Helper()
		blobs := memblob.OpenBucket(nil)
		t.Cleanup(func() { assert.NoError(t, blobs.Close()) })
		s := newSpool(t, "", room)
		return &store{
			uploads: &Bucket{blobs, s, Stall}, other: &Bucket{blobs, newSpool(t, "", room), Stall}, spool: s, remote: true,
			change: func(name string, to []byte) { require.NoError(t, blobs.WriteAll(t.Context(), name, to, nil)) },
		}
	},
	"S3": func(t *testing.T) *store {
		t.Helper()
		server := buckettest.Start(t, "uploads")
		s := newSpool(t, "", room)
		return &store{
			uploads: open(t, server.URL("uploads", buckettest.Root), s),
			other:   open(t, server.URL("uploads", buckettest.Root), newSpool(t, "", room)), spool: s, remote: true, network: true,
			change: func(name string, to []byte) {
				require.NoError(t, os.WriteFile(filepath.Join(server.Folder("uploads"), name), to, 0o600))
			},
		}
	},
	// Such a store passed the look at the start, and each job failed as damaged.
	"S3 that states no length": func(t *testing.T) *store {
		t.Helper()
		server := buckettest.Start(t, "uploads")
		address := through(t, server, inChunks(t, server))
		s := newSpool(t, "", room)
		return &store{
			uploads: open(t, address, s), other: open(t, address, newSpool(t, "", room)), spool: s, remote: true, network: true,
			change: func(name string, to []byte) {
				require.NoError(t, os.WriteFile(filepath.Join(server.Folder("uploads"), name), to, 0o600))
			},
		}
	},
	"S3, under a prefix, with its own checksums": func(t *testing.T) *store {
		t.Helper()
		server := buckettest.Start(t, "uploads")
		address := server.URL("uploads", buckettest.Root) + "&prefix=some/where/&response_checksum_validation=when_supported"
		s := newSpool(t, "", room)
		return &store{
			uploads: open(t, address, s), other: open(t, address, newSpool(t, "", room)), spool: s, remote: true, network: true,
			change: func(name string, to []byte) {
				require.NoError(t, os.WriteFile(filepath.Join(server.Folder("uploads"), "some/where", name), to, 0o600))
			},
		}
	},
}

func open(t *testing.T, address string, s *spool.Spool) *Bucket {
	t.Helper()
	b, err := Open(t.Context(), address, s, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	return b
}

// upload receives size random bytes.
func (s *store) upload(t *testing.T, size int64) *spool.File {
	t.Helper()
	f, err := s.spool.Create()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	_, err = io.CopyN(f, rand.Reader, size)
	require.NoError(t, err)
	return f
}

func content(t *testing.T, f *spool.File) []byte {
	t.Helper()
	file, err := f.Rewind()
	require.NoError(t, err)
	text, err := io.ReadAll(file)
	require.NoError(t, err)
	return text
}

// used is what the first process holds of its capacity.
func (s *store) used(t *testing.T, want int64) {
	t.Helper()
	_, size := s.spool.Usage()
	assert.Equal(t, want, size, "bytes in use")
}

// TestUploads holds every store to the contract of job.Uploads.
func TestUploads(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T, *store){
		"come back as they were": comeBack,
		"are listed":             listed,
		"have owners":            owned,
		"lost":                   lost,
		"damaged":                damaged,
		"many at once":           manyAtOnce,
		"cancelled":              cancelled,
		"without room":           withoutRoom,
	} {
		for kind, make := range stores {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				test(t, make(t))
			})
		}
	}
}

// comeBack: also what goes in several parts, to another process, more than once,
// until it is discarded.
func comeBack(t *testing.T, s *store) {
	t.Helper()
	for _, size := range []int64{1, 20 << 20} {
		name := fmt.Sprintf("det_%d", size)
		f := s.upload(t, size)
		require.NoError(t, s.uploads.Park(t.Context(), name, f))
		want := content(t, f)
		require.NoError(t, f.Close())
		for _, process := range []job.Uploads{s.uploads, s.other, s.uploads} {
			g, err := process.Open(t.Context(), name, f.SHA256(), size)
			require.NoError(t, err)
			assert.True(t, string(want) == string(content(t, g)), "the same bytes")
			assert.Equal(t, size, g.Size())
			assert.Equal(t, f.SHA256(), g.SHA256())
			require.NoError(t, g.Close())
		}
		g, err := s.other.Open(t.Context(), name, f.SHA256(), 0) // of a job that does not say its size
		require.NoError(t, err)
		require.NoError(t, g.Close())
		require.NoError(t, s.uploads.Discard(t.Context(), name))
		s.used(t, 0)
	}
}

func listed(t *testing.T, s *store) {
	t.Helper()
	parked, err := s.uploads.Parked(t.Context())
	require.NoError(t, err)
	assert.Empty(t, parked)
	for _, name := range []string{"det_a", "det_b"} {
		require.NoError(t, s.uploads.Park(t.Context(), name, s.upload(t, 3)))
	}
	parked, err = s.other.Parked(t.Context())
	require.NoError(t, err)
	names := map[string]bool{}
	for _, p := range parked {
		names[p.Name] = true
		assert.Less(t, p.Age, time.Minute)
		assert.Greater(t, p.Age, -2*time.Second, "stores round to seconds")
	}
	assert.Equal(t, map[string]bool{"det_a": true, "det_b": true}, names)
}

func lost(t *testing.T, s *store) {
	t.Helper()
	require.NoError(t, s.uploads.Discard(t.Context(), "det_1"), "what is not there needs no removal")
	_, err := s.uploads.Open(t.Context(), "det_1", "", 1)
	require.ErrorIs(t, err, spool.ErrLost)
	f := s.upload(t, 5)
	require.NoError(t, s.uploads.Park(t.Context(), "det_1", f))
	require.NoError(t, f.Close())
	require.NoError(t, s.other.Discard(t.Context(), "det_1"))
	_, err = s.uploads.Open(t.Context(), "det_1", f.SHA256(), 5)
	require.ErrorIs(t, err, spool.ErrLost)
	assert.NotErrorIs(t, err, spool.ErrAway)
}

func damaged(t *testing.T, s *store) {
	t.Helper()
	f := s.upload(t, 5)
	want := content(t, f)
	require.NoError(t, s.uploads.Park(t.Context(), "det_1", f))
	changes := map[string][]byte{"cut off": want[:4], "longer": append(want, 0)}
	if s.remote { // a folder's own machine is trusted with that
		changes["altered"] = []byte{want[0], want[1], want[2] + 1, want[3], want[4]}
	}
	for name, to := range changes {
		s.change("det_1", to)
		_, err := s.other.Open(t.Context(), "det_1", f.SHA256(), 5)
		require.ErrorIs(t, err, spool.ErrDamaged, name)
		assert.NotErrorIs(t, err, spool.ErrAway, name)
	}
}

func manyAtOnce(t *testing.T, s *store) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 16 {
		name, f := fmt.Sprintf("det_%d", i), s.upload(t, 100_000)
		all.Go(func() {
			assert.NoError(t, s.uploads.Park(t.Context(), name, f))
			g, err := s.other.Open(t.Context(), name, f.SHA256(), f.Size())
			if assert.NoError(t, err) {
				assert.Equal(t, f.SHA256(), g.SHA256())
				assert.NoError(t, g.Close())
			}
			assert.NoError(t, s.other.Discard(t.Context(), name))
		})
	}
	all.Wait()
	parked, err := s.uploads.Parked(t.Context())
	require.NoError(t, err)
	assert.Empty(t, parked)
}

// cancelled: who gives up is told so, not that the store is away.
func cancelled(t *testing.T, s *store) {
	t.Helper()
	if !s.network {
		t.Skip("this store does not wait for anything")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := s.upload(t, 5)
	_, errOpen := s.uploads.Open(ctx, "det_1", f.SHA256(), 5)
	for _, err := range []error{s.uploads.Park(ctx, "det_1", f), s.uploads.Discard(ctx, "det_1"), errOpen} {
		require.ErrorIs(t, err, context.Canceled)
		assert.NotErrorIs(t, err, spool.ErrAway)
	}
}

// withoutRoom: what is fetched takes room while it is open, and what is parked
// elsewhere takes none.
func withoutRoom(t *testing.T, s *store) {
	t.Helper()
	if !s.remote {
		t.Skip("a folder fetches nothing")
	}
	f := s.upload(t, 5)
	require.NoError(t, s.uploads.Park(t.Context(), "det_1", f))
	require.NoError(t, f.Close())
	s.used(t, 0)
	g := s.upload(t, room-4)
	_, err := s.uploads.Open(t.Context(), "det_1", f.SHA256(), 5)
	require.ErrorIs(t, err, spool.ErrFull)
	assert.NotErrorIs(t, err, spool.ErrAway)
	s.used(t, room-4)
	require.NoError(t, g.Close())
	h, err := s.uploads.Open(t.Context(), "det_1", f.SHA256(), 5)
	require.NoError(t, err)
	s.used(t, 5)
	require.NoError(t, h.Close())
}

// Whose uploads they are is known to all, and is no upload.
func owned(t *testing.T, s *store) {
	t.Helper()
	owners, err := s.uploads.Owners(t.Context())
	require.NoError(t, err)
	assert.Empty(t, owners)
	for range 2 {
		require.NoError(t, s.uploads.Own(t.Context(), "A"))
	}
	require.NoError(t, s.other.Own(t.Context(), "B"))
	owners, err = s.uploads.Owners(t.Context())
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"A", "B"}, owners)
	parked, err := s.uploads.Parked(t.Context())
	require.NoError(t, err)
	assert.Empty(t, parked)
	s.used(t, 0)
}

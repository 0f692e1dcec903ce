package bucket

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"deepfaked/internal/bucket/buckettest"
	"deepfaked/internal/spool"
)

// A bucket that can't be used is refused at the start, in a sentence that says
// what to do.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	for name, c := range map[string]struct {
		address string
		words   []string
	}{
		"unknown scheme":     {"ftp://uploads", []string{"ftp://uploads can't be opened", "no driver"}},
		"unknown option":     {"s3://uploads?regoin=x", []string{"can't be opened", "regoin"}},
		"bucket missing":     {server.URL("downloads", buckettest.Root), []string{"the bucket of s3://downloads", "does not exist; make it"}},
		"no rights":          {server.URL("uploads", buckettest.Guest), []string{"can't be written to with these credentials", "give them the right"}},
		"no credentials":     {server.URL("uploads", buckettest.Root) + "&anonymous=true", []string{"can't be written to with these credentials"}},
		"no such profile":    {server.URL("uploads", "stranger"), []string{"can't be opened", "stranger"}},
		"nobody there":       {"s3://uploads?endpoint=http://" + closed(t) + "&region=x&use_path_style=true&profile=root", []string{"can't be written to", "refused", "see to the address"}},
		"no region":          {"s3://uploads?profile=root", []string{"can't be written to", "region"}},
		"no account (Azure)": {"azblob://uploads", []string{"can't be opened", "AccountName"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(t.Context(), c.address, newSpool(t, "", 0), slog.New(slog.DiscardHandler))
			for _, word := range append(c.words, "uploads: ") {
				assert.ErrorContains(t, err, word)
			}
		})
	}
}

// The password of an endpoint stood in the error of a start that failed, and in the log of every other, and a
// key that was taken for an option in the former.
func TestOpenTellsNoPassword(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"http://u:secret@" + closed(t), "http%3A%2F%2Fu%3Asecret%40" + closed(t), "http://u:secret@" + closed(t) + "&regoin=x",
		"http://" + closed(t) + "&accesskey=secret",
		"http://u:secret@ho%20st", "http://u:secret/x@host", "u:secret@host",
	} {
		_, err := Open(t.Context(), "s3://uploads?region=x&use_path_style=true&profile=root&endpoint="+endpoint, newSpool(t, "", 0), slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "uploads: ", endpoint)
		assert.NotContains(t, err.Error(), "secret", endpoint)
	}
}

// Where Azure did not take what was written to see whether it would, the service ended in a panic, with the address
// and its password in it.
func TestOpenRefusesAzure(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"azblob://uploads?storage_account=a&protocol=http&domain=u:secret@" + closed(t),
		"azblob://uploads?storage_account=a&protocol=http&localemu=true&domain=" + closed(t),
	} {
		_, err := Open(t.Context(), address, newSpool(t, "", 0), slog.New(slog.DiscardHandler))
		require.ErrorContains(t, err, "uploads: azblob://uploads?", address)
		require.ErrorContains(t, err, "can't be written to", address)
		assert.NotContains(t, err.Error(), "secret", address)
		assert.NotContains(t, err.Error(), "\n", address)
	}
}

// closed is an address that nothing listens on.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	return l.Addr().String()
}

// Looking at a bucket leaves nothing in it, and takes away what looks of killed
// processes left.
func TestProbesAreRemoved(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	b := open(t, server.URL("uploads", buckettest.Root), newSpool(t, "", 0))
	long := time.Now().Add(-time.Hour)
	for name, at := range map[string]time.Time{probe + "old": long, probe + "new": time.Now(), "det_old": long} {
		path := filepath.Join(server.Folder("uploads"), name)
		require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
		require.NoError(t, os.Chtimes(path, at, at))
	}
	parked, err := b.Parked(t.Context())
	require.NoError(t, err)
	require.Len(t, parked, 1)
	assert.Equal(t, "det_old", parked[0].Name)
	assert.InDelta(t, time.Hour, parked[0].Age, float64(time.Minute))
	for name, there := range map[string]bool{"old": false, "new": true} {
		_, err := os.Stat(filepath.Join(server.Folder("uploads"), probe+name))
		assert.Equal(t, there, err == nil, name)
	}
}

// While the store is away everything says so, and nothing is taken for lost.
func TestAwayAndBack(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	s := newSpool(t, "", 0)
	b := open(t, server.URL("uploads", buckettest.Root), s)
	f := (&store{spool: s}).upload(t, 1000)
	require.NoError(t, b.Park(t.Context(), "det_1", f))
	server.Stop()
	_, errOpen := b.Open(t.Context(), "det_1", f.SHA256(), 1000)
	_, errParked := b.Parked(t.Context())
	for _, err := range []error{b.Park(t.Context(), "det_2", f), b.Discard(t.Context(), "det_1"), errOpen, errParked} {
		require.ErrorIs(t, err, spool.ErrAway)
		assert.NotErrorIs(t, err, spool.ErrLost)
	}
	server.Start()
	g, err := b.Open(t.Context(), "det_1", f.SHA256(), 1000)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	require.NoError(t, b.Park(t.Context(), "det_2", f))
	require.NoError(t, b.Discard(t.Context(), "det_2"))
}

// A bucket that is gone as a whole is away: it may only not be mounted.
func TestBucketGone(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	b := open(t, server.URL("uploads", buckettest.Root), newSpool(t, "", 0))
	require.NoError(t, os.Rename(server.Folder("uploads"), server.Folder("elsewhere")))
	_, err := b.Open(t.Context(), "det_1", "", 1)
	require.ErrorIs(t, err, spool.ErrAway)
	assert.NotErrorIs(t, err, spool.ErrLost)
}

// A store that takes everything and never answers is away.
func TestStall(t *testing.T) {
	t.Parallel()
	s := newSpool(t, "", 0)
	blobs, err := blob.OpenBucket(t.Context(), "s3://uploads?endpoint=http://"+silent(t)+"&region=x&use_path_style=true&profile=root")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, blobs.Close()) })
	b := &Bucket{blobs, s, 50 * time.Millisecond}
	f := (&store{spool: s}).upload(t, 1000)
	_, errOpen := b.Open(t.Context(), "det_1", f.SHA256(), 1000)
	_, errParked := b.Parked(t.Context())
	for _, err := range []error{b.Park(t.Context(), "det_1", f), b.Discard(t.Context(), "det_1"), errOpen, errParked} {
		require.ErrorIs(t, err, spool.ErrAway)
		assert.ErrorIs(t, err, errStalled)
	}
}

// inChunks is the address of a way on which what the server states of the length of objects
// is lost.
func inChunks(t *testing.T, server *buckettest.Server) string {
	t.Helper()
	way := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(endpoint(t, server))
			r.Out.Host = r.In.Host // which is signed
		},
		ModifyResponse: func(answer *http.Response) error {
			if answer.Request.Method == http.MethodGet {
				answer.ContentLength = -1
				answer.Header.Del("Content-Length")
			}
			return nil
		},
	})
	t.Cleanup(way.Close)
	return way.Listener.Addr().String()
}

// silent is the address of a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _, _ = io.Copy(io.Discard, c); _ = c.Close() })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

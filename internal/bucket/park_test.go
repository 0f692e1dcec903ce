package bucket

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/bucket/buckettest"
	"deepfaked/internal/spool"
)

// TestABrokenOffParkLeavesNothing: files of 16 MiB and more went in parts. Of a
// client that hung up meanwhile they stayed in the bucket for ever: the request to
// remove them was cancelled with the rest, and no list of objects shows them.
func TestABrokenOffParkLeavesNothing(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	s := newSpool(t, "", 0)
	b := open(t, slowly(t, server, 4<<20), s)
	f := (&store{spool: s}).upload(t, 20<<20)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := b.Park(ctx, "det_1", f)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.NotErrorIs(t, err, spool.ErrAway)
	var client *s3.Client
	require.True(t, b.blobs.As(&client))
	bucket := "uploads"
	left, err := client.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	require.NoError(t, err)
	assert.Empty(t, left.Uploads)
	parked, err := b.Parked(t.Context())
	require.NoError(t, err)
	assert.Empty(t, parked)
}

// TestASlowStoreIsNotAway: 16 MiB were read at once and held in memory, and nothing
// was seen to move until they had been sent. A store that took longer for them than
// it may stall was taken to be away, and eight uploads to it held 514 MiB.
func TestASlowStoreIsNotAway(t *testing.T) { //nolint:paralleltest // it measures the heap of the whole process
	server := buckettest.Start(t, "uploads")
	s := newSpool(t, "", 0)
	b := open(t, slowly(t, server, 4<<20), s)
	b.stall = 8 * time.Second // 16 MiB of four at once take 15
	f := (&store{spool: s}).upload(t, 15<<20)
	before := liveHeap()
	var parks sync.WaitGroup
	for i := range 4 {
		parks.Go(func() { assert.NoError(t, b.Park(t.Context(), fmt.Sprintf("det_%d", i), f)) })
	}
	<-time.After(time.Second)
	assert.Less(t, liveHeap()-before, int64(8<<20))
	parks.Wait()
}

func liveHeap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// slowly is the URL of the server's bucket by a way that takes rate bytes a second
// of each connection.
func slowly(t *testing.T, server *buckettest.Server, rate int64) string {
	t.Helper()
	return through(t, server, slowWay(t, endpoint(t, server).Host, rate))
}

// endpoint is the address of the server.
func endpoint(t *testing.T, server *buckettest.Server) *url.URL {
	t.Helper()
	address, err := url.Parse(server.URL("uploads", buckettest.Root))
	require.NoError(t, err)
	endpoint, err := url.Parse(address.Query().Get("endpoint"))
	require.NoError(t, err)
	return endpoint
}

// through is the URL of the server's bucket by the way that begins at host.
func through(t *testing.T, server *buckettest.Server, host string) string {
	t.Helper()
	address, err := url.Parse(server.URL("uploads", buckettest.Root))
	require.NoError(t, err)
	words := address.Query()
	words.Set("endpoint", "http://"+host)
	address.RawQuery = words.Encode()
	return address.String()
}

// slowWay is the address of the way.
func slowWay(t *testing.T, to string, rate int64) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { forward(c.(*net.TCPConn), to, rate) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, l.Close())
		all.Wait()
	})
	return l.Addr().String()
}

// forward carries what comes on a connection, and the answers, until either side
// closes it.
func forward(c *net.TCPConn, to string, rate int64) {
	defer func() { _ = c.Close() }()
	server, err := (&net.Dialer{}).Dial("tcp", to)
	if err != nil {
		return
	}
	var answers sync.WaitGroup
	answers.Go(func() { _, _ = io.Copy(c, server); _ = c.Close() })
	defer answers.Wait()
	defer func() { _ = server.Close() }()
	_ = c.SetReadBuffer(64 << 10) // what lies there has moved as far as the client knows
	ticker := time.NewTicker(time.Second / 100)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.CopyN(server, c, rate/100); err != nil {
			return
		}
	}
}

//go:build gocv_specific_modules

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Connections that do nothing took every descriptor that the process may have: nobody was answered
// any more, the probes and the metrics on the address for administration among them.
func TestIdleConnectionsLeaveDescriptors(t *testing.T) {
	t.Parallel()
	s := &instance{data: t.TempDir(), logs: &logs{changed: make(chan struct{})}, client: &http.Client{Timeout: patience}}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "/bin/sh", "-c", `ulimit -n 256 && exec "$0" "$@"`,
		os.Args[0], "serve", "--data", s.data, "--provider", "cpu", "--sessions", "1", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	cmd.Stderr = s.logs
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(unix.SIGTERM))
		assert.NoError(t, cmd.Wait())
	})
	admin := s.logs.await(t, `"msg":"listening for administration"`)["address"].(string)
	address := s.logs.await(t, `"msg":"listening"`)["address"].(string)
	s.logs.await(t, ready)
	for range 300 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, c.Close()) })
		_, err = fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		require.NoError(t, err)
	}
	for range 10 { // while they are taken in
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin+"/metrics", nil)
		require.NoError(t, err)
		request.Close = true
		a, err := s.send(request)
		require.NoError(t, err)
		assert.Equal(t, 200, a.status)
		<-time.After(100 * time.Millisecond)
	}
}

package httplog

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// full is a listener for which the process has no descriptors left, but now and then.
type full struct{ accepted int }

func (f *full) Accept() (net.Conn, error) {
	if f.accepted++; f.accepted > 1000 {
		return nil, net.ErrClosed
	}
	if f.accepted%2 == 0 {
		ours, theirs := net.Pipe()
		_ = theirs.Close()
		return ours, nil
	}
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}
}

func (f *full) Close() error   { return nil }
func (f *full) Addr() net.Addr { return &net.TCPAddr{} }

// A service out of descriptors answered nobody, and its log had no word of it; nor may it be flooded.
func TestWhatCannotBeAcceptedIsAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := New(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		server := &http.Server{ErrorLog: logger, ReadHeaderTimeout: time.Second}
		assert.ErrorIs(t, server.Serve(&full{}), net.ErrClosed)
		synctest.Wait()
		logger.Print("http: TLS handshake error")
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"))
		assert.Contains(t, log.String(), `msg="connections can't be accepted for now" error="accept tcp: too many open files; retrying in 5ms"`)
		assert.Equal(t, 499, strings.Count(log.String(), `level=DEBUG msg="http: Accept error: `))
		assert.Contains(t, log.String(), `level=DEBUG msg="http: TLS handshake error"`)
	})
}

package admin

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(listen string) Options {
	return Options{
		Listen: listen, Ready: func() error { return nil }, Healthy: func() error { return nil }, Logger: slog.New(slog.DiscardHandler),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
	}
}

func open(t *testing.T, opts Options) *Server {
	t.Helper()
	s, err := Open(opts)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// get asks on a connection of its own.
func get(t *testing.T, s *Server, method, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.Addr().String()+path, nil)
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.StatusCode, string(text)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	opts := options("127.0.0.1:0")
	var broken atomic.Bool
	opts.Ready = func() error {
		if broken.Load() {
			return errors.New("the models are loading")
		}
		return nil
	}
	s := open(t, opts)
	for _, c := range []struct {
		broken       bool
		method, path string
		status       int
		words        string
	}{
		{false, "GET", "/metrics", 200, "metrics"},
		{false, "GET", "/healthz", 200, "ok"},
		{true, "GET", "/healthz", 200, "ok"},
		{false, "GET", "/readyz", 200, "ready"},
		{false, "HEAD", "/readyz", 200, ""},
		{true, "GET", "/readyz", 503, "not ready: the models are loading"},
		{false, "GET", "/debug/pprof/", 200, "goroutine"},
		{false, "GET", "/debug/pprof/goroutine?debug=1", 200, "goroutine profile"},
		{false, "GET", "/debug/pprof/cmdline", 404, ""},
		{false, "POST", "/metrics", 405, ""},
		{false, "GET", "/", 404, ""},
		{false, "GET", "/v1/usage", 404, ""},
	} {
		broken.Store(c.broken)
		status, body := get(t, s, c.method, c.path)
		assert.Equal(t, c.status, status, "%s %s", c.method, c.path)
		assert.Contains(t, body, c.words, "%s %s", c.method, c.path)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	s := open(t, options("127.0.0.1:0"))
	_, err := Open(options(s.Addr().String()))
	assert.ErrorContains(t, err, "listen on "+s.Addr().String()+" for administration")
}

// A profile that runs for half a minute does not hold up the end.
func TestCloseDoesNotWaitForAProfile(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	opts := options("127.0.0.1:0")
	opts.Metrics = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	s := open(t, opts)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr().String()+"/metrics", nil)
		if err == nil {
			var answer *http.Response
			if answer, err = (&http.Transport{DisableKeepAlives: true}).RoundTrip(r); err == nil {
				_ = answer.Body.Close()
			}
		}
		done <- err
	}()
	<-begun
	require.NoError(t, s.Close())
	assert.Error(t, <-done)
	require.NoError(t, ctx.Err(), "it was waited for")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := Open(Options{Listen: ":0"})
	assert.ErrorContains(t, err, "metrics, ready, healthy and logger must be set")
}

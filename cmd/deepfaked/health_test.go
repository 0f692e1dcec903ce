package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// readiness answers as a service does.
func readiness(t *testing.T, status int, text string) (address string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/readyz", r.URL.Path)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// TestHealth: a proxy that is configured for the service must not be asked, and
// an unspecified address is where the service listens, not where it is reached.
func TestHealth(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	good, bad := readiness(t, 200, "ready\n"), readiness(t, 503, "not ready: the models are loading\n")
	_, port, err := net.SplitHostPort(good)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		listen, admin string
		words         []string // of the failure; none: it succeeds
	}{
		"ready":                      {good, "", nil},
		"on all addresses":           {":" + port, "", nil},
		"on all addresses of IPv4":   {"0.0.0.0:" + port, "", nil},
		"administration goes before": {"127.0.0.1:1", good, nil},
		"not ready":                  {bad, "", []string{"503", "the models are loading"}},
		"an address with a zone":     {"[::1%lo]:1", "", []string{"[::1%lo]:1 does not answer"}}, // was no valid URL
		"nobody there":               {"127.0.0.1:1", "", []string{"127.0.0.1:1 does not answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"health", "--listen", test.listen}
			if test.admin != "" {
				args = append(args, "--admin", test.admin)
			}
			if test.words == nil {
				call(t, args...).ok(t)
				return
			}
			call(t, args...).refused(t, exitFailed, test.words...)
		})
	}
	call(t, "health", "--listen", "nowhere").refused(t, exitUsage, "host:port")
	t.Setenv("DEEPFAKED_LISTEN", good)
	call(t, "health").ok(t)
	assert.Equal(t, "[::1]:8", near("[::]:8"))
}

// TestHealthWithAZone: a service on an address of one interface alone, as fe80::1%eth0 is, was
// never found healthy: that was not asked.
func TestHealthWithAZone(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "[::1%lo]:0")
	if err != nil {
		t.Skip("no IPv6 here:", err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.NotFoundHandler()}
	go func() { _ = s.Serve(l) }()
	defer func() { _ = s.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	call(t, "health", "--listen", "[::1%lo]:"+port).refused(t, exitFailed, "answered 404")
}

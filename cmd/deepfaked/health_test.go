package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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

package api_test

import (
	"io"
	"strings"
	"testing"
)

// What a client library would never send still gets an answer in shape.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	contentType, body := form(t, photo())
	for name, c := range map[string]struct {
		text   string
		status int
		code   string
	}{
		"OPTIONS *":           {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"},
		"CONNECT":             {"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 404, "not_found"},
		"an absolute address": {"GET http://other/v1/usage HTTP/1.1\r\nHost: x\r\n\r\n", 401, "unauthorized"},
		"two slashes":         {"GET //v1//usage HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"},
		"escaped slashes":     {"GET /v1%2Fusage HTTP/1.1\r\nHost: x\r\n\r\n", 401, "unauthorized"},
		"HTTP/1.0":            {"GET /v1/usage HTTP/1.0\r\n\r\n", 401, "unauthorized"},
		"two keys":            {"GET /v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nAuthorization: Bearer " + key + "\r\n\r\n", 401, "unauthorized"},
		"a body on GET":       {"GET /v1/results/det_x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nContent-Length: 3\r\n\r\nabc", 404, "not_found"},
		"a broken chunk":      {"POST /v1/detect HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer " + key + "\r\nContent-Type: " + contentType + "\r\n\r\nzz\r\n", 400, "invalid_request"},
		"no length":           {"POST /v1/detect HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\nContent-Type: " + contentType + "\r\n\r\n", 400, "invalid_request"},
		"a long path":         {"GET /" + strings.Repeat("x", 30_000) + " HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not_found"},
	} {
		u := s.dial(nil)
		u.send(c.text)
		a := u.answer()
		if a.status != c.status || a.body["error"] != c.code {
			t.Errorf("%s: answered %d %s", name, a.status, a.raw)
		}
	}
	// Names of headers have the contract's capitals.
	plain := s.dial(nil)
	plain.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	raw, err := io.ReadAll(plain.in)
	must(t, err)
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-ID"} {
		if strings.Count(string(raw), "\r\n"+name+": ") != 1 {
			t.Errorf("%s is not in %s", name, raw)
		}
	}
	// Two requests sent at once are answered in turn.
	u := s.dial(nil)
	one := head(key, contentType, len(body), "") + string(body)
	_, err = io.WriteString(u.conn, one+one)
	must(t, err)
	u.answer().ok(200)
	u.answer().ok(200)
}

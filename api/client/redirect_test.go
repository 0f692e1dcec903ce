package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// moving is a proxy that sends everything on to /new, as others do to HTTPS.
func moving(t *testing.T, status int) (base string, arrived func() []string) {
	t.Helper()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/new" {
			seen = append(seen, r.Method)
			_, _ = w.Write([]byte(`{"plan":"pro"}`))
			return
		}
		http.Redirect(w, r, "/new", status)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string { return seen }
}

// TestRedirects: with http:// in place of https:// a submission went on as a GET without
// its file, and was told that there is no such method, or no such path.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		base, arrived := moving(t, status)
		c, err := New(Options{BaseURL: base, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Detect(t.Context(), "x", strings.NewReader("file"), DetectOptions{})
		var told *Error
		if !errors.As(err, &told) || told.Status != status || len(arrived()) != 0 {
			t.Errorf("%d: got %v and calls %q", status, err, arrived())
		}
		if u, err := c.Usage(t.Context()); err != nil || u.Plan != "pro" {
			t.Errorf("%d: got %+v, %v for what has no file", status, u, err)
		}
	}
}

// TestRedirectsOfOthers: what the caller's client does of them still counts, and the
// client itself is left alone.
func TestRedirectsOfOthers(t *testing.T) {
	t.Parallel()
	base, _ := moving(t, 302)
	own := &http.Client{}
	for _, c := range []struct {
		policy func(*http.Request, []*http.Request) error
		want   string
	}{
		{nil, ""},
		{func(*http.Request, []*http.Request) error { return errors.New("I stay") }, "I stay"},
	} {
		own.CheckRedirect = c.policy
		client, err := New(Options{BaseURL: base, Key: "k", HTTP: own})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Usage(t.Context()); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if (own.CheckRedirect == nil) != (c.policy == nil) {
			t.Error("the caller's client was changed")
		}
	}
}

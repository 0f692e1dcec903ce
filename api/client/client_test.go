package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// script answers calls in turn, in place of a network.
type script struct {
	answers []scripted
	calls   []time.Time
}

type scripted struct {
	status int    // 0: no answer
	header string // Retry-After
	body   string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	next := s.answers[min(len(s.calls), len(s.answers)-1)]
	s.calls = append(s.calls, time.Now())
	if next.status == 0 {
		return nil, syscall.ECONNREFUSED
	}
	body := io.Reader(strings.NewReader(next.body))
	if next == cut {
		body = iotest.ErrReader(io.ErrUnexpectedEOF)
	}
	h := http.Header{"X-Request-Id": {"req_1"}}
	if next.header != "" {
		h.Set("Retry-After", next.header)
	}
	return &http.Response{
		StatusCode: next.status, Status: http.StatusText(next.status), Header: h,
		Body: io.NopCloser(body), Request: r,
	}, nil
}

func newClient(t *testing.T, answers ...scripted) (*Client, *script) {
	t.Helper()
	s := &script{answers: answers}
	c, err := New(Options{BaseURL: "http://service.test/", Key: "k", HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

var (
	processing = scripted{200, "", `{"id":"det_1","status":"processing"}`}
	complete   = scripted{200, "", `{"id":"det_1","status":"complete","verdict":"fake","confidence":0.5}`}
	cut        = scripted{200, "", `{"id":`}
	limited    = scripted{429, "30", `{"error":"rate_limited","message":"Too many requests.","retry_after":30}`}
)

func TestWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers  []scripted
		at       []time.Duration // of the calls, within a tenth
		code     string          // of the error
		deadline time.Duration
	}{
		"at once":               {answers: []scripted{complete}, at: []time.Duration{0}},
		"backs off":             {answers: []scripted{processing, processing, processing, complete}, at: []time.Duration{0, 250 * time.Millisecond, 625 * time.Millisecond, 1187 * time.Millisecond}},
		"honours Retry-After":   {answers: []scripted{{200, "4", processing.body}, complete}, at: []time.Duration{0, 4 * time.Second}},
		"waits a limit out":     {answers: []scripted{limited, complete}, at: []time.Duration{0, 30 * time.Second}},
		"outlives a failure":    {answers: []scripted{{500, "", `{"error":"internal_error","message":"x"}`}, complete}, at: []time.Duration{0, 250 * time.Millisecond}},
		"gives up on not_found": {answers: []scripted{{404, "", `{"error":"not_found","message":"x"}`}}, at: []time.Duration{0}, code: "not_found"},
		"ends with its context": {answers: []scripted{limited}, at: []time.Duration{0}, code: "deadline", deadline: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, script := newClient(t, c.answers...)
				start := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.deadline, time.Hour))
				defer cancel()
				d, err := client.Wait(ctx, "det_1")
				checkWait(t, d, err, c.code)
				if len(script.calls) != len(c.at) {
					t.Fatalf("%d calls were made, want %d", len(script.calls), len(c.at))
				}
				for i, at := range script.calls {
					if got := at.Sub(start); got < c.at[i] || got > c.at[i]*11/10+time.Millisecond {
						t.Errorf("call %d was made after %v, want %v", i, got, c.at[i])
					}
				}
			})
		})
	}
}

func checkWait(t *testing.T, d Detection, err error, code string) {
	t.Helper()
	var refused *Error
	switch {
	case code == "":
		if err != nil || d.Status != Complete || d.Verdict != "fake" {
			t.Errorf("got %+v, %v", d, err)
		}
	case code == "deadline":
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	case !errors.As(err, &refused) || refused.Code != code || refused.RequestID != "req_1":
		t.Errorf("got %v", err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer scripted
		want   Error
	}{
		"the service's": {limited, Error{429, "rate_limited", "Too many requests.", 30 * time.Second, "req_1"}},
		"a proxy's":     {scripted{502, "", "<html>"}, Error{502, "", "the answer was Bad Gateway", 0, "req_1"}},
		"an empty one":  {scripted{503, "5", ""}, Error{503, "", "the answer was Service Unavailable", 5 * time.Second, "req_1"}},
	} {
		client, _ := newClient(t, c.answer)
		_, err := client.Usage(t.Context())
		var got *Error
		if !errors.As(err, &got) || *got != c.want {
			t.Errorf("%s: got %#v", name, err)
		}
	}
	client, _ := newClient(t, scripted{200, "", "nonsense"})
	if _, err := client.Usage(t.Context()); err == nil {
		t.Error("nonsense was understood")
	}
}

// TestErrorText: of an answer that was not the service's, such as a redirect of a proxy,
// the text ended with "(302 , request )".
func TestErrorText(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Error{
		"Too many requests. (429 rate_limited, request req_1)": {Status: 429, Code: "rate_limited", Message: "Too many requests.", RequestID: "req_1"},
		"Too many requests. (429 rate_limited)":                {Status: 429, Code: "rate_limited", Message: "Too many requests."},
		"the answer was 502 Bad Gateway (request req_1)":       {Status: 502, Message: "the answer was 502 Bad Gateway", RequestID: "req_1"},
		"the answer was 302 Found":                             {Status: 302, Message: "the answer was 302 Found"},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	f, err := os.Create(t.TempDir() + "/x")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("0123456789"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(4, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		r    io.Reader
		want int64
	}{
		"string": {strings.NewReader("abc"), 3}, "file": {f, 6}, "unknown": {io.LimitReader(f, 1), -1},
	} {
		if got := sizeOf(c.r); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, opts := range []Options{{}, {BaseURL: "service", Key: "k"}, {BaseURL: "ftp://x", Key: "k"}, {BaseURL: "http://x"}, {BaseURL: "http://x?a=b", Key: "k"}, {BaseURL: "http://x#a", Key: "k"}} {
		if _, err := New(opts); err == nil {
			t.Errorf("%+v was accepted", opts)
		}
	}
}

// TestNewRefusesBareMarks: with http://x? all calls went to the path /, with what was
// to be called as the query, and with http://x# it was not sent at all.
func TestNewRefusesBareMarks(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://x?", "http://x/?", "http://x#", "http://x/a#", "http://x?#"} {
		if _, err := New(Options{BaseURL: base, Key: "k"}); err == nil {
			t.Errorf("%s was accepted", base)
		}
	}
}

// TestRetryAfter: a date was taken for no wait at all, and a huge number for a wait
// of less than nothing.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	limited := func(seconds string) string {
		return `{"error":"rate_limited","message":"x","retry_after":` + seconds + `}`
	}
	synctest.Test(t, func(t *testing.T) { // the clock stands still
		for name, c := range map[string]struct {
			answer scripted
			want   time.Duration
		}{
			"seconds":              {scripted{503, "5", ""}, 5 * time.Second},
			"a date":               {scripted{503, time.Now().Add(time.Minute).UTC().Format(http.TimeFormat), ""}, time.Minute},
			"a date that is past":  {scripted{503, "Sun, 06 Nov 1994 08:49:37 GMT", ""}, 0},
			"a date that is far":   {scripted{503, "Sun, 06 Nov 2894 08:49:37 GMT", ""}, 24 * time.Hour},
			"huge":                 {scripted{503, "9223372036854775807", ""}, 24 * time.Hour},
			"huger":                {scripted{503, "99999999999999999999", ""}, 24 * time.Hour},
			"negative":             {scripted{503, "-5", ""}, 0},
			"nonsense":             {scripted{503, "soon", ""}, 0},
			"huge in the body":     {scripted{429, "", limited("9223372036854775807")}, 24 * time.Hour},
			"negative in the body": {scripted{429, "7", limited("-1")}, 7 * time.Second},
		} {
			client, _ := newClient(t, c.answer)
			_, err := client.Usage(t.Context())
			var refused *Error
			if !errors.As(err, &refused) || refused.RetryAfter != c.want {
				t.Errorf("%s: got %#v", name, err)
			}
		}
	})
}

package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answering hands out one answer and keeps the request.
type answering struct {
	body    io.ReadCloser
	request *http.Request
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.request = r
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return &http.Response{StatusCode: 200, Status: "OK", Header: http.Header{}, Body: a.body, Request: r}, nil
}

// endless is an answer that goes on for as long as it is read, up to far more than any
// caller should hold.
type endless struct{ read, most int64 }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > e.most {
		return 0, io.EOF
	}
	e.read += int64(len(p))
	return copy(p, strings.Repeat(" ", len(p))), nil
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error {
	c.closed = true
	return nil
}

// What answers may not be the service: of an answer without an end no more is held than
// any of the service's has, and its connection is given up.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	without := &endless{most: 4 * maxAnswer}
	body := &closed{Reader: without}
	c, err := New(Options{BaseURL: "http://service.test", Key: "k", HTTP: &http.Client{Transport: &answering{body: body}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Usage(t.Context()); err == nil {
		t.Error("an answer of spaces was understood")
	}
	if without.read > 2*maxAnswer {
		t.Errorf("%d bytes of an answer were read", without.read)
	}
	if !body.closed {
		t.Error("the rest of the answer is waited for")
	}
}

// A refusal of a large upload, as for a quota that is used up, costs nothing where leave is
// asked for first, and so it does of an upload whose size nobody knows. For a small one the
// way there and back costs more.
func TestLargeUploadsAskForLeave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file io.Reader
		want string
	}{
		"small":   {strings.NewReader("x"), ""},
		"large":   {strings.NewReader(strings.Repeat("x", expectBytes)), "100-continue"},
		"unknown": {io.MultiReader(strings.NewReader("x")), "100-continue"},
	} {
		server := &answering{body: io.NopCloser(strings.NewReader(`{"id":"det_1"}`))}
		client, err := New(Options{BaseURL: "http://service.test", Key: "k", HTTP: &http.Client{Transport: server}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Detect(t.Context(), "x", c.file, DetectOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := server.request.Header.Get("Expect"); got != c.want {
			t.Errorf("%s: Expect is %q", name, got)
		}
	}
}

// A transport may read on after the answer, when the reader is the caller's again.
func TestNothingIsReadOfWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	r := strings.NewReader("abc")
	l := lend(r)
	if n, err := l.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	l.takeBack(context.Background())
	if n, err := l.Read(make([]byte, 1)); n != 0 || !errors.Is(err, errTakenBack) || r.Len() != 2 {
		t.Errorf("read %d, %v, and %d are left of two", n, err, r.Len())
	}
}

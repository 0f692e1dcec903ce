package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"deepfaked/api/client"
	"deepfaked/internal/load"
)

// The modes of a request.
const (
	modeSync  = "sync"
	modeAsync = "async"
	modeBoth  = "both"
)

// pollEvery is how long an asynchronous request waits where the service suggests
// nothing.
const pollEvery = 250 * time.Millisecond

// service is the one that is called.
type service struct {
	client    *client.Client
	transport *http.Transport
	mode      string
	mix       *mix
}

// newService calls nothing.
func newService(address, key, mode string, m *mix, transport *http.Transport) (*service, error) {
	c, err := client.New(client.Options{BaseURL: address, Key: key, HTTP: &http.Client{Transport: noting{transport}, CheckRedirect: stay}})
	return &service{c, transport, mode, m}, err
}

func (s *service) close() { s.transport.CloseIdleConnections() }

// next picks the next request.
func (s *service) next() load.Call {
	f := s.mix.pick()
	if s.mode == modeAsync || s.mode == modeBoth && s.mix.coin() {
		return func(ctx context.Context) load.Answer { return s.call(ctx, modeAsync, f, s.async) }
	}
	return func(ctx context.Context) load.Answer { return s.call(ctx, modeSync, f, s.sync) }
}

// probe asks for the usage, so that a wrong address or key is told before the long
// wait. A service that is busy or fails is measured all the same.
func (s *service) probe(ctx context.Context) error {
	_, err := s.client.Usage(ctx)
	if refused, ok := errors.AsType[*client.Error](err); err == nil || ok && temporary(refused.Status) {
		return nil
	}
	return fmt.Errorf("the service can't be measured: %w", err)
}

// temporary says that a server with this status is busy, or fails for the time being.
func temporary(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// call notes what comes back on the way.
func (s *service) call(ctx context.Context, mode string, f file, do func(context.Context, file, *load.Answer) (bool, error)) load.Answer {
	a := load.Answer{Mode: mode}
	ok, err := do(context.WithValue(ctx, notes{}, &a.Statuses), f, &a)
	a.OK = ok && err == nil
	if refused, ok := errors.AsType[*client.Error](err); ok {
		say(&a, refused)
	} else if err != nil {
		a.Error = short(err)
	}
	return a
}

// say keeps what a refusal says of itself.
func say(a *load.Answer, refused *client.Error) {
	if refused.Code != "" {
		keep(a, refused.Status, refused.Message)
	}
}

// maxMessage bounds what is kept of a message, in characters.
const maxMessage = 300

// keep keeps the first message of a status.
func keep(a *load.Answer, status int, message string) {
	if _, known := a.Messages[status]; known || message == "" {
		return
	}
	if a.Messages == nil {
		a.Messages = map[int]string{}
	}
	a.Messages[status] = fmt.Sprintf("%.*s", maxMessage, message)
}

func (s *service) sync(ctx context.Context, f file, _ *load.Answer) (bool, error) {
	d, err := s.client.Detect(ctx, f.name, bytes.NewReader(f.content), client.DetectOptions{})
	return d.Verdict != "", err
}

// errJob is a job that the service gave up.
var errJob = errors.New("job failed")

// async submits and asks for the result each time that the service suggests.
func (s *service) async(ctx context.Context, f file, a *load.Answer) (bool, error) {
	d, err := s.client.Submit(ctx, f.name, bytes.NewReader(f.content), client.DetectOptions{})
	id := d.ID
	for err == nil && d.Status == client.Processing {
		if err = pause(ctx, d.RetryAfter); err != nil {
			break
		}
		d, err = s.client.Result(ctx, id)
		if refused, ok := errors.AsType[*client.Error](err); ok && temporary(refused.Status) {
			say(a, refused)
			d.Status, d.RetryAfter, err = client.Processing, refused.RetryAfter, nil
		}
	}
	if err == nil && d.Status == client.Failed {
		err = errJob
	}
	return d.Status == client.Complete, err
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		d = pollEvery
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// outOfFiles is an error of this machine.
const outOfFiles = "no file descriptor left here"

// short names an error in words that can be counted.
func short(err error) string {
	switch {
	case errors.Is(err, errJob):
		return errJob.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return outOfFiles
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed"
	}
	return "no answer that makes sense"
}

// notes is where a request's context holds the statuses that are noted.
type notes struct{}

// noting notes the status of each answer.
type noting struct{ next http.RoundTripper }

func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.next.RoundTrip(r)
	if to, ok := r.Context().Value(notes{}).(*[]int); ok && err == nil {
		*to = append(*to, resp.StatusCode)
	}
	return resp, err
}

package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/api/client"
	"deepfaked/internal/load"
)

// answers come in turn, in place of a network.
type answers struct {
	script []answer
	calls  int
}

type answer struct {
	status           int
	retryAfter, body string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	next := a.script[min(a.calls, len(a.script)-1)]
	a.calls++
	return &http.Response{
		StatusCode: next.status, Header: http.Header{"Retry-After": {next.retryAfter}},
		Body: io.NopCloser(strings.NewReader(next.body)), Request: r,
	}, nil
}

// TestOutOfFileDescriptors: a limit of this machine was "no answer that makes sense" of
// the server.
func TestOutOfFileDescriptors(t *testing.T) {
	t.Parallel()
	err := &url.Error{Op: "Post", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.EMFILE)}}
	p := load.Plan{Burst: 2, Window: 1, Windows: 1, SLO: 1, Timeout: time.Minute, Connections: 1}
	r, failed := load.Run(t.Context(), p, func() load.Call {
		return func(context.Context) load.Answer { return load.Answer{Error: short(err)} }
	})
	require.NoError(t, failed)
	assert.ErrorContains(t, verdict(t.Context(), []step{{p, r}}), "could not open a connection 2 times for want of file descriptors")
}

// TestAsync: a job is asked for when the service says, so that latency has the
// service's steps and not ours.
func TestAsync(t *testing.T) {
	t.Parallel()
	const processing, limited = `{"id":"det_1","status":"processing"}`, `{"error":"rate_limited","message":"x","retry_after":7}`
	complete, failed := answer{200, "", `{"id":"det_1","status":"complete"}`}, answer{200, "", `{"id":"det_1","status":"failed"}`}
	for name, c := range map[string]struct {
		script []answer
		took   time.Duration
		want   load.Answer
	}{
		"the service's pace": {[]answer{{202, "2", processing}, {200, "3", processing}, complete}, 5 * time.Second, load.Answer{OK: true, Statuses: []int{202, 200, 200}}},
		"no pace":            {[]answer{{202, "", processing}, complete}, pollEvery, load.Answer{OK: true, Statuses: []int{202, 200}}},
		"limited":            {[]answer{{202, "1", processing}, {429, "7", limited}, complete}, 8 * time.Second, load.Answer{OK: true, Statuses: []int{202, 429, 200}, Messages: map[int]string{429: "x"}}},
		"failed":             {[]answer{{202, "1", processing}, failed}, time.Second, load.Answer{Error: "job failed", Statuses: []int{202, 200}}},
		"lost":               {[]answer{{202, "1", processing}, {404, "", `{"error":"not_found","message":"x"}`}}, time.Second, load.Answer{Statuses: []int{202, 404}, Messages: map[int]string{404: "x"}}},
		"refused":            {[]answer{{429, "7", limited}}, 0, load.Answer{Statuses: []int{429}, Messages: map[int]string{429: "x"}}},
		"nonsense":           {[]answer{{202, "", "<html>"}}, 0, load.Answer{Error: "no answer that makes sense", Statuses: []int{202}}},
		"never":              {[]answer{{202, "40", processing}}, time.Minute, load.Answer{Error: "timeout", Statuses: []int{202, 202}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl, err := client.New(client.Options{BaseURL: "http://service.test", Key: "k", HTTP: &http.Client{Transport: noting{&answers{script: c.script}}}})
				require.NoError(t, err)
				s := &service{client: cl, mode: modeAsync, mix: &mix{random: random(1), groups: []group{{1, []file{{name: "a.png"}}}}, total: 1}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				start := time.Now()
				got := s.next()(ctx)
				c.want.Mode = modeAsync
				assert.Equal(t, c.want, got)
				assert.Equal(t, c.took, time.Since(start))
			})
		})
	}
}

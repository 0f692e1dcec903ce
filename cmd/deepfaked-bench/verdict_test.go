package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/load"
)

// TestEndedEarly: the report is what was measured until then, and the exit code
// says so.
func TestEndedEarly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit, want string
	}{"by a signal": {"1m", "interrupted"}, "by the limit": {"2s", "--limit"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDouble(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.limit == "1m" {
				go func() {
					<-d.tenth
					cancel()
				}()
			}
			s := call(ctx, "--url", d.URL, "--key", key, "--rate", "50", "--warmup", "0s", "--window", "1m", "--limit", c.limit, "--json", "-", picture(t))
			assert.Equal(t, exitFailed, s.code)
			assert.Contains(t, s.err, c.want)
			assert.Contains(t, s.err, "too short to tell")
			r := understood(t, s.out)
			assert.True(t, r.Interrupted)
			require.Len(t, r.Steps, 1)
			assert.Positive(t, r.Steps[0].Successes)
			assert.Less(t, r.Steps[0].Measured, 30.)
		})
	}
}

// TestLimitDuringTheReport: where the time limit passed, or a signal came, while plots were
// drawn, a measurement that was complete had been cut short, with the exit code 1, and its
// own JSON said that it had not.
func TestLimitDuringTheReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := load.Plan{Rate: 50, Window: time.Second, Windows: 3, SLO: time.Second, Timeout: time.Second, Connections: 1}
		r, err := load.Run(ctx, p, func() load.Call {
			return func(context.Context) load.Answer { return load.Answer{OK: true, Statuses: []int{200}} }
		})
		require.NoError(t, err)
		cancel()
		assert.NoError(t, verdict(ctx, []step{{p, r}}))
	})
}

// TestServerThatDies: the exit code was 0, and nothing but a column of errors told that most
// of the measurement was of nobody; clients of a closed loop called as often as they could,
// 95,000 times in five seconds.
func TestServerThatDies(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	go d.dies()
	began := time.Now()
	s := call(t.Context(), quick(d, "--warmup", "0s", "--window", "1s", "--clients", "2", "--json", "-", picture(t))...)
	assert.Equal(t, exitFailed, s.code)
	assert.Contains(t, s.err, "the server stopped answering")
	assert.Regexp(t, `of \d+ requests \d+ failed without an answer that counts \(.*connection refused: \d+`, s.err)
	step := understood(t, s.out).Steps[0]
	most := 2*int(time.Since(began)/(10*time.Millisecond)) + 10 // however long it took
	assert.Less(t, step.Errors["connection refused"], most, "each client waits 10 ms")
}

// TestRampEndsWithTheServer: once the server was gone, every later rate of a ramp was
// still measured, each for minutes by default.
func TestRampEndsWithTheServer(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	go d.dies()
	s := call(t.Context(), quick(d, "--warmup", "0s", "--window", "1s", "--ramp", "60,70,80", "--json", "-", picture(t))...)
	assert.Equal(t, exitFailed, s.code)
	assert.Contains(t, s.err, "60/s: the server stopped answering")
	assert.Len(t, understood(t, s.out).Steps, 1)
}

// TestAnswersThatDoNotCount: that the server had stopped answering, and the report held
// what came before, was said of servers that answered every time but not as they should,
// and of one that had answered nothing before.
func TestAnswersThatDoNotCount(t *testing.T) {
	t.Parallel()
	job := map[string]any{"id": "det_1", "status": "processing"}
	for name, c := range map[string]struct {
		mode   string
		submit int
		result func(w http.ResponseWriter, r *http.Request)
		want   string
	}{
		"jobs that fail": {modeAsync, 202, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, map[string]any{"id": "det_1", "status": "failed"})
		}, "no request succeeded"},
		"jobs out of sight":   {modeAsync, 202, func(w http.ResponseWriter, _ *http.Request) { reply(w, 503, map[string]any{"error": "unavailable"}) }, "no request succeeded"},
		"jobs without an end": {modeAsync, 202, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, job) }, "no request succeeded"},
		"nonsense":            {modeSync, 200, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "no request succeeded"},
		"silence":             {modeSync, 0, nil, "burst of 3: no request of the measurement got an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := scripted(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch {
				case c.result == nil:
					<-r.Context().Done()
				case c.submit == 202 && r.Method == http.MethodPost:
					reply(w, 202, job)
				default:
					c.result(w, r)
				}
			})
			s := call(t.Context(), "--url", d.URL, "--key", key, "--mode", c.mode, "--burst", "3", "--warmup", "0s", "--timeout", "3s", picture(t))
			assert.Equal(t, exitFailed, s.code)
			assert.Contains(t, s.err, "deepfaked-bench: "+c.want+"\n")
			assert.NotContains(t, s.err, "stopped answering")
		})
	}
}

// TestNotMeasurable: what can't succeed is told at once, or at the end.
func TestNotMeasurable(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	defer other.Close()
	sound := place(t, t.TempDir(), "a.wav", wavBytes)
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"another's key": {[]string{"--url", d.URL, "--key", "x"}, "The key is unknown. (401 unauthorized"},
		"nobody there":  {[]string{"--url", gone.URL, "--key", key}, "connection refused"},
		// These two ran to their end, and told only then that nothing had succeeded.
		"another path":   {[]string{"--url", d.URL + "/nope", "--key", key}, "the service can't be measured"},
		"another server": {[]string{"--url", other.URL, "--key", key}, "the service can't be measured"},
		"all refused":    {[]string{"--url", d.URL, "--key", key}, "no request succeeded"},
	} {
		s := call(t.Context(), append(c.args, "--rate", "50", "--warmup", "0s", "--window", "500ms", "--windows", "3", sound)...)
		assert.Equal(t, exitFailed, s.code, name)
		assert.Contains(t, s.err, c.want, name)
		assert.Equal(t, name == "all refused", strings.Contains(s.out, "never steady in 3 windows"), name)
	}
}

// TestSilentProbe: a server that does not answer at all, or not before the time for
// everything was up, was "context deadline exceeded", without a word on whose.
func TestSilentProbe(t *testing.T) {
	t.Parallel()
	d := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer d.Close()
	for flag, want := range map[string]string{
		"--limit": "the time limit ended it (--limit) before the server had answered", "--timeout": "no answer within 100ms (--timeout)",
	} {
		s := call(t.Context(), "--url", d.URL, "--key", key, "--rate", "1", flag, "100ms", picture(t))
		assert.Equal(t, exitFailed, s.code, flag)
		assert.Contains(t, s.err, want)
	}
}

// TestMostlyRefused: a closed loop that was refused nearly always gave its throughput,
// and the exit code 0, as if that were what the service can do.
func TestMostlyRefused(t *testing.T) {
	t.Parallel()
	d := newDouble(t)
	sound := place(t, t.TempDir(), "a.wav", wavBytes)
	s := call(t.Context(), quick(d, "--clients", "2", "--mix", "image=1,audio=4", "--json", "-", sound, picture(t))...)
	assert.Equal(t, exitFailed, s.code)
	assert.Regexp(t, `2 clients: \d+ of \d+ requests succeeded, too few`, s.err)
	assert.Positive(t, understood(t, s.out).Steps[0].Successes)
}

// TestRefusalsAreTold: of every 429 it was said that a limit of the plan had been reached,
// also where the service was full, and of a 500 nothing but that no request succeeded.
func TestRefusalsAreTold(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	d := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) == 1 {
			reply(w, 500, map[string]any{"error": "internal_error", "message": "Something broke here."})
			return
		}
		reply(w, 429, map[string]any{"error": "rate_limited", "message": "The service is full."})
	})
	s := call(t.Context(), "--url", d.URL, "--key", key, "--burst", "3", "--warmup", "0s", "--json", "-", picture(t))
	assert.Equal(t, exitFailed, s.code)
	assert.Contains(t, s.err, "burst of 3: 2 answers of 429, the first: The service is full.\n")
	assert.Contains(t, s.err, "burst of 3: 1 answer of 500, the first: Something broke here.\n")
	assert.Equal(t, map[string]string{"429": "The service is full.", "500": "Something broke here."}, understood(t, s.out).Steps[0].Messages)
}

// TestUnsentAreTheLongest: the median was 62 ms where 326 of 419 requests were never sent,
// for want of a connection.
func TestUnsentAreTheLongest(t *testing.T) {
	t.Parallel()
	s := call(t.Context(), quick(newDouble(t), "--warmup", "0s", "--rate", "200", "--connections", "1", "--json", "-", "--plots", t.TempDir(), picture(t))...)
	require.Zero(t, s.code, s.err)
	step := understood(t, s.out).Steps[0]
	latency := step.Latency["sync"]
	require.Greater(t, step.Unsent, latency.Count)
	assert.Regexp(t, `sync( +-){5} +≥\d`, s.err)
	assert.Zero(t, latency.P50+latency.P999)
	assert.Positive(t, latency.Max)
	assert.NotContains(t, s.out, `"p50":0,`, "it is left out")
}

// TestTimeoutsAreTold: a percentile among requests that were given up is marked, as
// nobody knows how long they would have taken. Of a burst of a hundred, one of which was
// given up, the throughput was 1.65/s in place of 99/s, without a word on why.
func TestTimeoutsAreTold(t *testing.T) {
	t.Parallel()
	d := scripted(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	s := call(t.Context(), "--url", d.URL, "--key", key, "--burst", "3", "--warmup", "0s", "--timeout", "500ms", "--json", "-", picture(t))
	assert.Equal(t, exitFailed, s.code)
	assert.Regexp(t, `burst of 3 +0/s +0/s +sync +≥\d\S*s( +-){4} +≥\d\S*s\n`, s.err)
	assert.Regexp(t, `burst of 3: throughput is that of \d\S*s, until the last request was given up`, s.err)
	latency := understood(t, s.out).Steps[0].Latency["sync"]
	assert.Equal(t, [2]int{3, 3}, [2]int{latency.Count, latency.TimedOut})
	assert.GreaterOrEqual(t, latency.P50, .5)
}

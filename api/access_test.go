package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
)

// lines are the access lines of the log, once the service has stopped.
func (s *service) lines() []map[string]any {
	s.t.Helper()
	var lines []map[string]any
	for text := range strings.Lines(s.logs.String()) {
		var line map[string]any
		must(s.t, json.Unmarshal([]byte(text), &line))
		if line["msg"] == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}

// The duration was a bare number of nanoseconds, named like nothing of the kind,
// and every internal error had a stack, which was empty unless it was a panic.
func TestAccessLine(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: failing(errors.New("broken"))})
	began := time.Now()
	s.detect(s.key("pro"), photo()).want(500, "internal_error")
	must(t, s.stop())
	elapsed := float64(time.Since(began)) / float64(time.Millisecond)
	lines := s.lines()
	if len(lines) != 1 {
		t.Fatalf("%d requests are logged", len(lines))
	}
	took, ok := lines[0]["duration_ms"].(float64)
	if !ok || took <= 0 || took > elapsed {
		t.Errorf("the line %v does not say how many of %f ms it took", lines[0], elapsed)
	}
	if us := took * 1000; math.Abs(us-math.Round(us)) > 1e-6 {
		t.Errorf("%v ms are not whole microseconds", took)
	}
	for _, absent := range []string{"duration", "stack"} {
		if value, ok := lines[0][absent]; ok {
			t.Errorf("the line has %s: %v", absent, value)
		}
	}
}

// Whether a client had gone was asked after the answer, and most that keep no
// connection leave as soon as they have it: failures of the service were logged at
// INFO, as theirs. So were those of requests that a shutdown cut off.
func TestWhoHasTheAnswerIsNotGone(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	s := setup(t, config{
		api: func(o *api.Options) { o.Drain = 0 },
		detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
			if r.Sensitivity == inference.Strict {
				started <- struct{}{}
				<-ctx.Done()
			}
			return inference.Result{}, errors.New("broken")
		},
	})
	key := s.key("pro")
	for range 50 {
		u := s.begin(key, photo())
		u.write(len(u.body))
		u.answer().want(500, "internal_error")
		must(t, u.conn.Close())
	}
	last := s.begin(key, field("sensitivity", "strict"), photo())
	last.write(len(last.body))
	<-started
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	last.answer().wantShutdown()
	must(t, <-stopped)
	gone := 0
	for _, line := range s.lines() {
		if failed := line["status"] != float64(503); line["gone"] != nil || failed != (line["level"] == "ERROR") {
			gone++
		}
	}
	if lines := s.lines(); gone > 0 || len(lines) != 51 {
		t.Errorf("%d of %d clients that had their answer are logged as gone, the last as %v", gone, len(lines), lines[len(lines)-1])
	}
}

// An orchestrator's probes, one every few seconds, were most of the log.
func TestProbesAreLoggedAtDebug(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	s.get("", "/healthz").ok(200)
	s.get("", "/readyz").ok(200)
	s.get("", "/v1/nothing").want(404, "not_found")
	must(t, s.stop())
	for _, line := range s.lines() {
		want := "DEBUG"
		if line["status"] == float64(404) {
			want = "INFO"
		}
		if line["level"] != want {
			t.Errorf("%v is logged at %v, not %s", line["route"], line["level"], want)
		}
	}
	if n := len(s.lines()); n != 3 {
		t.Errorf("%d requests are logged, not 3", n)
	}
}

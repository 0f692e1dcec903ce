package main

import (
	"encoding/json"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/load"
)

const (
	key   = "k"
	delay = 20 * time.Millisecond
)

// double answers as the service does: pictures after a delay, sounds with 429, and
// jobs at the second question.
type double struct {
	*httptest.Server
	uploads atomic.Int64
	tenth   chan struct{} // is closed by the tenth upload
	asked   sync.Map
}

// dies ends it with its tenth upload.
func (d *double) dies() {
	<-d.tenth
	d.CloseClientConnections()
	d.Close()
}

func newDouble(t *testing.T) *double {
	t.Helper()
	d := &double{tenth: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/usage", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"plan": "pro"}) })
	mux.HandleFunc("POST /v1/detect", d.detect)
	mux.HandleFunc("GET /v1/results/{id}", d.result)
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			reply(w, 401, map[string]any{"error": "unauthorized", "message": "The key is unknown."})
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

// scripted is a service that answers submissions, and questions for results, as it is told.
func scripted(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/usage", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"plan": "pro"}) })
	mux.Handle("/", answer)
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (d *double) detect(w http.ResponseWriter, r *http.Request) {
	n := d.uploads.Add(1)
	if n == 10 {
		close(d.tenth)
	}
	_, head, err := r.FormFile("file")
	switch {
	case err != nil:
		reply(w, 400, map[string]any{"error": "invalid_request", "message": "There is no file."})
	case strings.HasSuffix(head.Filename, ".wav"):
		reply(w, 429, map[string]any{"error": "rate_limited", "message": "Too many requests.", "retry_after": 1})
	case r.FormValue("async") == "true":
		id := "det_" + strconv.FormatInt(n, 10)
		reply(w, 202, map[string]any{"id": id, "status": "processing", "poll_url": "/v1/results/" + id})
	default:
		<-time.After(delay)
		reply(w, 200, map[string]any{"id": "det_1", "verdict": "real", "confidence": .5, "media_type": "image"})
	}
}

func (d *double) result(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, again := d.asked.LoadOrStore(id, true); !again {
		reply(w, 200, map[string]any{"id": id, "status": "processing"})
		return
	}
	reply(w, 200, map[string]any{"id": id, "status": "complete", "verdict": "fake", "confidence": .9, "media_type": "image"})
}

// place writes a file that is recognised by how it begins.
func place(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

const (
	pngBytes = "\x89PNG\r\n\x1a\n and so on"
	wavBytes = "RIFF\x24\x00\x00\x00WAVEfmt and so on"
)

func picture(t *testing.T) string { t.Helper(); return place(t, t.TempDir(), "a.png", pngBytes) }

// quick are windows of the shortest time that still means something.
func quick(d *double, args ...string) []string {
	return append([]string{"--url", d.URL, "--key", key, "--warmup", "100ms", "--window", "500ms", "--windows", "4"}, args...)
}

// TestOpenLoop runs both modes over a mix, with everything that can be reported.
func TestOpenLoop(t *testing.T) {
	t.Parallel()
	d, dir, plots := newDouble(t), t.TempDir(), filepath.Join(t.TempDir(), "new", "plots")
	place(t, dir, "real/a.png", pngBytes)
	place(t, dir, "real/b.wav", wavBytes)
	place(t, dir, "notes.txt", "notes")
	place(t, dir, ".cache/c.png", pngBytes)
	s := call(t.Context(), quick(d, "--ramp", "60,120", "--mix", "image=3,audio=1", "--mode", "both", "--pid", strconv.Itoa(os.Getpid()), "--json", "-", "--plots", plots, dir)...)
	require.Zero(t, s.code, s.err)
	r := understood(t, s.out)
	assert.Equal(t, map[string]int{"image": 1, "audio": 1}, r.Files)
	require.Len(t, r.Steps, 2)
	for i, step := range r.Steps {
		assert.Equal(t, loadReport{Arrivals: "poisson", Rate: []float64{60, 120}[i]}, step.Load)
		assert.Positive(t, step.Failures)
		assert.Positive(t, step.Throughput)
		assert.Empty(t, step.Errors)
		assert.Equal(t, step.Failures, step.Statuses["429"])
		assert.Equal(t, step.Latency["async"].Count, step.Statuses["202"])
		assert.Equal(t, step.Latency["sync"].Count+2*step.Latency["async"].Count, step.Statuses["200"], "each job is asked for twice")
		assert.Equal(t, step.Successes, step.Latency["sync"].Count+step.Latency["async"].Count)
		assert.GreaterOrEqual(t, step.Latency["sync"].P50, delay.Seconds())
		assert.GreaterOrEqual(t, step.Latency["async"].P50, 2*pollEvery.Seconds())
		require.NotNil(t, step.Server)
		assert.Greater(t, step.Server.Memory, int64(1<<20))
	}
	for _, words := range []string{"files that are left out, not being media: 1", "LOAD", "60/s", "120/s", "P99.9", "429: ", "answers of 429, the first: Too many requests.\n"} {
		assert.Contains(t, s.err, words)
	}
	for _, name := range []string{"histogram-sync-60-per-s.png", "histogram-async-120-per-s.png", "latency-sync.png", "latency-async.png"} {
		f, err := os.Open(filepath.Join(plots, name))
		require.NoError(t, err)
		defer f.Close()
		_, err = png.Decode(f)
		require.NoError(t, err, name)
	}
}

// TestOtherLoads: constant arrivals, closed loops and bursts.
func TestOtherLoads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		load loadReport
	}{
		"constant": {[]string{"--rate", "50", "--arrivals", "constant"}, loadReport{Arrivals: "constant", Rate: 50}},
		"closed":   {[]string{"--clients", "2"}, loadReport{Arrivals: "closed", Clients: 2}},
		"burst":    {[]string{"--burst", "9"}, loadReport{Arrivals: "burst", Burst: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := filepath.Join(t.TempDir(), "report.json")
			s := call(t.Context(), quick(newDouble(t), append(c.args, "--json", to, picture(t))...)...)
			require.Zero(t, s.code, s.err)
			content, err := os.ReadFile(to)
			require.NoError(t, err)
			r := understood(t, string(content))
			require.Len(t, r.Steps, 1)
			step := r.Steps[0]
			assert.Equal(t, c.load, step.Load)
			assert.Positive(t, step.Throughput)
			assert.GreaterOrEqual(t, step.Latency["sync"].P50, delay.Seconds())
			assert.Nil(t, step.Server)
			if c.load.Burst > 0 {
				assert.Equal(t, 9, step.Successes)
			}
			assert.Contains(t, s.out, "THROUGHPUT")
			if c.load.Burst > 0 {
				assert.Regexp(t, `sync +\d\S*( +-){4} +\d`, s.out, "of nine the longest is p90, and all beyond")
			}
		})
	}
}

// TestLimitCoversAllLoads: a measurement of six rates that are never steady takes longer than the
// ten minutes that were its limit unless one was given.
func TestLimitCoversAllLoads(t *testing.T) {
	t.Parallel()
	c := cli{Ramp: []float64{1, 2, 3, 4, 5, 6}, Warmup: 5 * time.Second, Window: 10 * time.Second, Windows: 10, SLO: time.Second, Timeout: time.Minute, Connections: 1}
	plans, err := c.plans()
	require.NoError(t, err)
	assert.Equal(t, 6*(5+100+60)*time.Second+time.Minute, c.limit(plans))
	brief := time.Second
	c.Limit = &brief
	assert.Equal(t, brief, c.limit(plans))
}

// TestNoReportNoFile: where the measurement never began, the file for its JSON was left
// behind, of no bytes, which scripts that waited for it took for the report.
func TestNoReportNoFile(t *testing.T) {
	t.Parallel()
	d, to := newDouble(t), filepath.Join(t.TempDir(), "report.json")
	s := call(t.Context(), "--url", d.URL, "--key", "another", "--rate", "1", "--json", to, picture(t))
	assert.Equal(t, exitFailed, s.code)
	assert.NoFileExists(t, to)
}

// TestSettingsAreReported: two reports could not be told apart by how long was measured,
// or by what was sent, and by which program.
func TestSettingsAreReported(t *testing.T) {
	t.Parallel()
	s := call(t.Context(), quick(newDouble(t), "--rate", "50", "--windows", "1", "--mix", "image=2", "--connections", "9", "--timeout", "30s", "--json", "-", picture(t))...)
	require.Zero(t, s.code, s.err)
	got := understood(t, s.out).Settings
	build, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	want := settings{Version: build.Main.Version, Form: formMultipart, Mix: map[string]float64{"image": 2}, Warmup: .1, Window: .5, Windows: 1, Timeout: 30, Connections: 9}
	assert.Equal(t, want, got)
}

// TestSameRateTwice: the second load drew over the first one's histogram.
func TestSameRateTwice(t *testing.T) {
	t.Parallel()
	plots := t.TempDir()
	s := call(t.Context(), quick(newDouble(t), "--ramp", "50,50", "--windows", "1", "--plots", plots, picture(t))...)
	require.Zero(t, s.code, s.err)
	assert.FileExists(t, filepath.Join(plots, "histogram-sync-50-per-s.png"))
	assert.FileExists(t, filepath.Join(plots, "histogram-sync-50-per-s-2.png"))
}

// TestEarlierPlotsGo: pictures of rates that were measured before, and are not now, stayed
// among those of this run. What has another name is somebody else's.
func TestEarlierPlotsGo(t *testing.T) {
	t.Parallel()
	plots := filepath.Join(t.TempDir(), "[plots]")
	earlier := []load.Plan{{Rate: 1e-3}, {Rate: 1e6}, {Clients: 1}, {Clients: 20}, {Burst: 7}}
	for _, p := range earlier {
		place(t, plots, "histogram-async-"+fileName(p)+".png", "earlier")
	}
	for _, name := range []string{"latency-async.png", "histogram-sync-60-per-s-2.png", "histogram-sync-mine.png", "latency-of-others.png", "sync-histogram.png"} {
		place(t, plots, name, "earlier")
	}
	s := call(t.Context(), quick(newDouble(t), "--burst", "3", "--plots", plots, picture(t))...)
	require.Zero(t, s.code, s.err)
	entries, err := os.ReadDir(plots)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	assert.Equal(t, []string{"histogram-sync-burst-of-3.png", "histogram-sync-mine.png", "latency-of-others.png", "sync-histogram.png"}, names)
}

// TestOne: it said "1 clients" and "a burst of 1 requests".
func TestOne(t *testing.T) {
	t.Parallel()
	assert.Contains(t, announcement(load.Plan{Clients: 1}), "1 client:")
	assert.Contains(t, announcement(load.Plan{Burst: 1}), "a burst of 1 request after")
}

// TestNoRedirects: load goes to the address that was named, wherever that points.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	other := newDouble(t)
	d := scripted(t, http.RedirectHandler(other.URL+"/v1/detect", http.StatusTemporaryRedirect).ServeHTTP)
	s := call(t.Context(), "--url", d.URL, "--key", key, "--burst", "3", "--warmup", "0s", "--json", "-", picture(t))
	assert.Equal(t, exitFailed, s.code)
	assert.Equal(t, map[string]int{"307": 3}, understood(t, s.out).Steps[0].Statuses)
	assert.Zero(t, other.uploads.Load())
}

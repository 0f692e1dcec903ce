//go:build gocv_specific_modules

package main

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// admin asks the address for administration.
func (s *instance) admin(t testing.TB, path string) (status int, text string) {
	t.Helper()
	address, _ := s.logs.await(t, `"msg":"listening for administration"`)["address"].(string)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	require.NoError(t, err)
	resp, err := s.client.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

// figures scrapes the metrics: their values by name and labels.
func (s *instance) figures(t testing.TB) map[string]float64 {
	t.Helper()
	status, text := s.admin(t, "/metrics")
	require.Equal(t, 200, status, text)
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	figures := map[string]float64{}
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if at := strings.LastIndexByte(lines.Text(), ' '); at > 0 && !strings.HasPrefix(lines.Text(), "#") {
			figures[lines.Text()[:at]], err = strconv.ParseFloat(lines.Text()[at+1:], 64)
			require.NoError(t, err, lines.Text())
		}
	}
	return figures
}

// What operators see is what has happened.
func TestMetrics(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, "plans: {starter: {scans: 2}}", "--admin", "127.0.0.1:0", "--redis", "redis://127.0.0.1:1")
	_, text := s.admin(t, "/healthz")
	assert.Equal(t, "ok\n", text)
	s.logs.await(t, ready)
	status, _ := s.admin(t, "/readyz")
	assert.Equal(t, 200, status)

	key := newKey(t, s.data, "watched", "starter")
	s.detect(t, key, somePicture(t)).judged(t)
	s.detect(t, key, []byte("no picture")).want(t, 415, "unsupported_media_type")        // takes no place
	s.detect(t, key, []byte("\x89PNG\r\n\x1a\n")).want(t, 415, "unsupported_media_type") // nor does this
	cut := somePicture(t)
	s.detect(t, key, cut[:len(cut)/2]).want(t, 415, "unsupported_media_type") // which only decoding tells
	s.get(t, "", "/v1/usage").want(t, 401, "unauthorized")
	s.get(t, "", "/secret/path").want(t, 404, "not_found")
	done := s.begin(t.Context(), t, key, longFilm(t))
	require.NoError(t, unix.Kill(s.working(t), unix.SIGKILL))
	(<-done).judged(t)
	s.detect(t, key, somePicture(t)).want(t, 402, "quota_exceeded")
	slow := newKey(t, s.data, "later", "pro")
	s.detect(t, slow, somePicture(t), "async", "true").fields(t, 202, "id", "status", "poll_url")
	s.logs.await(t, `"route":"/v1/detect","status":202`)

	var got map[string]float64
	require.Eventually(t, func() bool {
		got = s.figures(t)
		return got[`deepfaked_job_attempts_total{end="complete"}`] == 1
	}, patience, 20*time.Millisecond)
	for figure, want := range map[string]float64{
		`deepfaked_http_requests_total{method="POST",route="/v1/detect",status="200"}`:               2,
		`deepfaked_http_requests_total{method="POST",route="/v1/detect",status="202"}`:               1,
		`deepfaked_http_requests_total{method="POST",route="/v1/detect",status="402"}`:               1,
		`deepfaked_http_requests_total{method="POST",route="/v1/detect",status="415"}`:               3,
		`deepfaked_http_requests_total{method="GET",route="none",status="404"}`:                      1,
		`deepfaked_http_request_duration_seconds_count{method="GET",route="/v1/usage",status="401"}`: 1,
		`deepfaked_rejections_total{reason="unauthorized"}`:                                          1,
		`deepfaked_rejections_total{reason="quota_exceeded"}`:                                        1,
		`deepfaked_rejections_total{reason="unsupported_media_type"}`:                                3,
		`deepfaked_rejections_total{reason="rate_limited"}`:                                          0,
		`deepfaked_quota_events_total{event="counted"}`:                                              3,
		`deepfaked_quota_events_total{event="released"}`:                                             1,
		`deepfaked_quota_events_total{event="exhausted"}`:                                            1,
		`deepfaked_decoder_children_lost_total{reason="killed"}`:                                     1,
		`deepfaked_stage_duration_seconds_count{stage="decode"}`:                                     5, // the film twice
		`deepfaked_redis_away{counts="account"}`:                                                     1,
		`deepfaked_jobs_waiting`:                                                                     0,
		`deepfaked_rows_waiting`:                                                                     0,
		`deepfaked_ready`:                                                                            1,
		`deepfaked_provider_info{provider="cpu"}`:                                                    1,
	} {
		value, there := got[figure]
		assert.True(t, there, figure)
		assert.InDelta(t, want, value, 0, figure)
	}
	for _, stage := range []string{"spool", "admission", "child", "queue", "inference", "store"} {
		assert.Positive(t, got[`deepfaked_stage_duration_seconds_count{stage="`+stage+`"}`], stage)
	}
	_, text = s.admin(t, "/metrics")
	assert.NotContains(t, text, "secret")
	address, _ := s.logs.await(t, `"msg":"listening for administration"`)["address"].(string)
	call(t, "serve", "--listen", "127.0.0.1:0", "--admin", address, "--data", t.TempDir()).
		refused(t, exitFailed, address, "already in use", "--admin")
	call(t, "health", "--listen", strings.TrimPrefix(s.url, "http://")).ok(t)
	call(t, "health", "--admin", address).ok(t)
	assert.Zero(t, s.stop())
}

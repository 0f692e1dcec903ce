package metrics

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/job"
	"deepfaked/preprocess"
)

var (
	_ api.Observer           = (*Metrics)(nil)
	_ inference.Observer     = (*Metrics)(nil)
	_ inference.GateObserver = (*Metrics)(nil)
	_ preprocess.Observer    = (*Metrics)(nil)
	_ job.Observer           = (*Metrics)(nil)
	_ api.Accounts           = (*Books)(nil)
	_ job.Books              = (*Books)(nil)
)

// watched are metrics with everything in them.
func watched(jobs func(context.Context) (int, error)) *Metrics {
	m := New()
	m.Watch(Sources{
		Ready: func() error { return nil }, Rows: func() int { return 3 }, Jobs: jobs,
		Spool: func() (int64, int64) { return 4, 5 }, Provider: func() string { return "cpu" },
	})
	m.Answered(api.Answer{Route: "/v1/detect", Method: "POST", Status: 200, Took: time.Second})
	m.Ran("image", 2, time.Second)
	m.Attempted(job.Complete, time.Second, time.Second)
	m.Redis("account")(true)
	return m
}

func seven(context.Context) (int, error) { return 7, nil }

func scrape(m *Metrics) string {
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestFigures(t *testing.T) {
	t.Parallel()
	text := scrape(watched(seven))
	for _, line := range []string{
		`deepfaked_http_requests_total{method="POST",route="/v1/detect",status="200"} 1`,
		`deepfaked_http_request_duration_seconds_sum{method="POST",route="/v1/detect",status="200"} 1`,
		`deepfaked_rejections_total{reason="saturated"} 0`,
		`deepfaked_stage_duration_seconds_count{stage="inference"} 1`,
		`deepfaked_stage_duration_seconds_count{stage="decode"} 0`,
		`deepfaked_batch_rows_bucket{model="image",le="2"} 1`,
		`deepfaked_batch_rows_bucket{model="image",le="1"} 0`,
		`deepfaked_decoder_children_lost_total{reason="timeout"} 0`,
		`deepfaked_job_attempts_total{end="complete"} 1`,
		`deepfaked_job_attempts_total{end="gave_up"} 0`,
		`deepfaked_job_wait_seconds_sum 1`,
		`deepfaked_quota_events_total{event="reserved"} 0`,
		`deepfaked_redis_away{counts="account"} 1`,
		`deepfaked_ready 1`, `deepfaked_rows_waiting 3`, `deepfaked_jobs_waiting 7`, `deepfaked_database_away 0`,
		`deepfaked_spool_files 4`, `deepfaked_spool_bytes 5`, `deepfaked_provider_info{provider="cpu"} 1`,
	} {
		assert.Contains(t, text, line+"\n")
	}
}

// A scrape that its client broke off left a warning in the log for each metric, some 56 of them. What
// could not be found out is still one.
func TestABrokenOffScrapeIsNoWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		m := watched(func(context.Context) (int, error) {
			leave()
			<-time.After(time.Second) // meanwhile it is noticed
			return 0, errors.New("away")
		})
		var log bytes.Buffer
		m.Handler(slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/metrics", nil))
		<-time.After(2 * time.Second) // what goes on without its client has an end, too
		synctest.Wait()
		assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
		assert.Contains(t, log.String(), "error gathering metrics: ")
		assert.Contains(t, log.String(), "away")
	})
}

// Whatever clients send, there are so many series and no more.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := New()
	for _, method := range []string{"GET", "get", "PROPFIND", strings.Repeat("X", 1000)} {
		m.Answered(api.Answer{Method: method, Status: 404, Reason: "not_found"})
	}
	text := scrape(m)
	assert.Contains(t, text, `deepfaked_http_requests_total{method="other",route="none",status="404"} 3`)
	assert.Contains(t, text, `deepfaked_rejections_total{reason="not_found"} 4`)
	assert.NotContains(t, text, "PROPFIND")
	assert.Equal(t, len(api.Reasons()), strings.Count(text, "deepfaked_rejections_total{"), "a reason that api.Reasons does not list")
}

func TestLint(t *testing.T) {
	t.Parallel()
	problems, err := testutil.GatherAndLint(watched(seven).registry)
	require.NoError(t, err)
	for _, p := range problems {
		assert.Fail(t, p.Metric, p.Text)
	}
}

// A database that does not answer costs one figure, not all of them, and shows in another: nothing
// to raise an alarm by had told of it.
func TestWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	text := scrape(watched(func(context.Context) (int, error) { return 0, errors.New("the database is away") }))
	assert.NotContains(t, text, "deepfaked_jobs_waiting")
	assert.Contains(t, text, "deepfaked_database_away 1\n")
	assert.Contains(t, text, "deepfaked_rows_waiting 3\n")
}

// README.md lists what there is, and no more.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var listed, made []string
	for _, found := range regexp.MustCompile("(?m)^\\| `(deepfaked_[a-z_]+)").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, found[1])
	}
	families, err := watched(seven).registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), namespace+"_") {
			made = append(made, f.GetName())
		}
	}
	slices.Sort(listed)
	slices.Sort(made)
	assert.Equal(t, made, listed)
	for _, name := range values() {
		assert.Contains(t, string(text), "`"+name+"`")
	}
}

// Whoever looked up upload_lost or uploads_away found nothing: seven reasons were
// listed, "the contract's codes" were not, and two more had been forgotten.
func TestDocumentationListsTheReasons(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	row := regexp.MustCompile("(?m)^\\| `deepfaked_rejections_total` \\| `reason` \\|(.*)$").FindStringSubmatch(string(text))
	require.NotNil(t, row)
	var listed []api.Reason
	for _, found := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
		listed = append(listed, api.Reason(found[1]))
	}
	assert.ElementsMatch(t, api.Reasons(), listed)
}

// Who watched for a full disk was told of files on it that were small, and lay in memory.
func TestUploadsInMemoryAreNotOnDisk(t *testing.T) {
	t.Parallel()
	text := scrape(watched(seven))
	for _, gauge := range []string{"spool_files", "spool_bytes"} {
		assert.Regexp(t, "(?m)^# HELP deepfaked_"+gauge+" .*in this process's care.*memory", text)
	}
}

// Jobs that were given up by the service's own fault raised no alert: they were counted with damaged
// files, and no rule told of those. Every end of an attempt is in one, but for that of a process. Then those given up
// were missing from the ends that the others are compared with.
func TestAlertsKnowTheEnds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../deploy/alerts.yaml")
	require.NoError(t, err)
	told := map[job.End]int{}
	for _, found := range regexp.MustCompile(`end=~?"([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		for end := range strings.SplitSeq(found[1], "|") {
			told[job.End(end)]++
		}
	}
	assert.Equal(t, map[job.End]int{job.Complete: 1, job.Failed: 1, job.GaveUp: 2, job.Retried: 1, job.Postponed: 1}, told, "given up: an end, and an alert of its own")
}

// values are those of the labels whose values are ours.
func values() (all []string) {
	for _, s := range []Stage{Spool, Admission, Child, Decode, Queue, Inference, Store} {
		all = append(all, string(s))
	}
	for _, l := range losses {
		all = append(all, string(l))
	}
	for _, e := range []Event{Reserved, Counted, Failed, Released, Withdrawn, Exhausted, Daily, Broken} {
		all = append(all, string(e))
	}
	for _, e := range []job.End{job.Complete, job.Failed, job.GaveUp, job.Retried, job.Postponed, job.Returned} {
		all = append(all, string(e))
	}
	return all
}

// What is told for one picture: a request, its stages, three batches.
func BenchmarkObserve(b *testing.B) {
	m := New()
	b.ReportAllocs()
	for b.Loop() {
		m.Spooled(time.Millisecond)
		m.Entered(0)
		m.Decoded(0, time.Millisecond)
		for _, model := range []string{"image", "face", "face-detection"} {
			m.Waited(model, time.Millisecond)
			m.Ran(model, 1, time.Millisecond)
		}
		m.Answered(api.Answer{Route: "/v1/detect", Method: "POST", Status: 200, Took: time.Millisecond})
	}
}

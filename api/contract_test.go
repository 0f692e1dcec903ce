package api_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/models"
	"deepfaked/preprocess"
)

var (
	idForm   = regexp.MustCompile(`^det_[0-9a-hjkmnp-tv-z]{26}$`)
	timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

// Section 2.1, the table of representations, and 4.1 and 4.2, the tables of
// responses.
func TestRepresentations(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if r.Priority == inference.Background {
			<-release
		}
		if r.Declared == preprocess.Audio {
			return failing(notMedia)(ctx, r)
		}
		return fake(ctx, r)
	}})
	key := s.key("starter")
	var done, failed string
	steps := []struct {
		row    string
		answer func() answer
		status int
		fields []string
	}{
		{"2.1 synchronous result", func() answer { return s.detect(key, photo()) }, 200,
			[]string{"id", "verdict", "confidence", "media_type", "created_at"}},
		{"2.1 async acceptance", func() answer { return s.detect(key, async(), photo()) }, 202,
			[]string{"id", "status", "poll_url"}},
		{"2.1 async acceptance of one that fails", func() answer { return s.detect(key, async(), field("media_type", "audio"), photo()) }, 202,
			[]string{"id", "status", "poll_url"}},
		{"2.1 result, processing", func() answer { return s.get(key, "/v1/results/"+done) }, 200,
			[]string{"id", "status", "poll_url", "created_at"}},
		{"2.1 result, complete", func() answer { close(release); return s.poll(key, done) }, 200,
			[]string{"id", "status", "verdict", "confidence", "media_type", "created_at", "completed_at"}},
		{"2.1 result, failed", func() answer { return s.poll(key, failed) }, 200,
			[]string{"id", "status", "error", "created_at"}},
		{"2.2 usage", func() answer { return s.get(key, "/v1/usage") }, 200,
			[]string{"plan", "scans_used", "scans_limit", "scans_remaining", "period_start"}},
	}
	for i, step := range steps {
		a := step.answer().ok(step.status)
		a.fields(step.fields...)
		if ids := map[int]*string{1: &done, 2: &failed}; ids[i] != nil {
			*ids[i] = a.text("id")
		}
		checkFields(t, step.row, a)
	}
}

// checkFields holds each field to section 2.1's and 2.2's notes and to the
// decisions on ids and timestamps.
func checkFields(t *testing.T, row string, a answer) {
	t.Helper()
	for name, value := range a.body {
		text, _ := value.(string)
		ok := true
		switch name {
		case "id":
			ok = idForm.MatchString(text)
		case "verdict":
			ok = text == "fake"
		case "media_type":
			ok = text == "image"
		case "confidence":
			ok = value == 0.875
		case "created_at", "completed_at", "period_start":
			ok = timeForm.MatchString(text)
		case "poll_url":
			ok = text == "/v1/results/"+a.text("id")
		case "error":
			ok = text == "The file is not a known type of media."
		}
		if !ok {
			t.Errorf("%s: %s is %v", row, name, value)
		}
	}
}

// 2.1: created_at is when the submission was accepted, in UTC milliseconds.
func TestTimestampsFollowTheClock(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	a := s.detect(key, photo()).ok(200)
	if got := a.text("created_at"); got != "2026-03-14T15:09:26.535Z" {
		t.Errorf("created_at is %s", got)
	}
	if got := s.get(key, "/v1/usage").ok(200).text("period_start"); got != "2026-03-01T00:00:00.000Z" {
		t.Errorf("period_start is %s", got)
	}
}

// 2.1: confidence is a float in [0, 1]; what a detector must not say is an
// internal error and is not counted.
func TestConfidence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		value float64
		raw   string // of the field; empty: internal_error
	}{
		"one": {1, "1.0"}, "zero": {0, "0.0"}, "small": {1e-9, "0.000000001"},
		"above": {1.01, ""}, "below": {-.01, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
				result, _ := fake(ctx, r)
				result.Confidence = c.value
				return result, nil
			}})
			key := s.key("pro")
			a := s.detect(key, photo())
			if c.raw == "" {
				a.want(500, "internal_error")
				if used := s.usage(key).Used; used != 0 {
					t.Errorf("%d scans were counted", used)
				}
				return
			}
			if !regexp.MustCompile(`"confidence":` + regexp.QuoteMeta(c.raw) + `[,}]`).Match(a.ok(200).raw) {
				t.Errorf("answered %s, want confidence %s", a.raw, c.raw)
			}
		})
	}
}

// fieldCases are the cases of TestFormFieldsReachTheDetector.
var fieldCases = map[string]struct {
	parts       []part
	declared    preprocess.Kind
	sensitivity inference.Sensitivity
	priority    inference.Priority
}{
	"4.1 file only":                            {[]part{photo()}, "", inference.Balanced, inference.Interactive},
	"4.1 media_type image":                     {[]part{field("media_type", "image"), photo()}, preprocess.Image, inference.Balanced, inference.Interactive},
	"4.1 media_type audio":                     {[]part{field("media_type", "audio"), photo()}, preprocess.Audio, inference.Balanced, inference.Interactive},
	"4.1 media_type video":                     {[]part{photo(), field("media_type", "video")}, preprocess.Video, inference.Balanced, inference.Interactive},
	"4.1 async false":                          {[]part{field("async", "false"), photo()}, "", inference.Balanced, inference.Interactive},
	"4.1 async true":                           {[]part{async(), photo()}, "", inference.Balanced, inference.Background},
	"4.1 async after the file":                 {[]part{photo(), async()}, "", inference.Balanced, inference.Background},
	"async as Python says it":                  {[]part{field("async", "True"), photo()}, "", inference.Balanced, inference.Background},
	"4.1 sensitivity balanced":                 {[]part{field("sensitivity", "balanced"), photo()}, "", inference.Balanced, inference.Interactive},
	"4.1 sensitivity strict":                   {[]part{field("sensitivity", "strict"), photo()}, "", inference.Strict, inference.Interactive},
	"4.1 sensitivity sensitive after the file": {[]part{photo(), field("sensitivity", "sensitive")}, "", inference.Sensitive, inference.Interactive},
	"decisions: unknown fields are ignored":    {[]part{field("colour", "red"), field("colour", "blue"), photo(), field("x", "")}, "", inference.Balanced, inference.Interactive},
}

// 4.1, the table of form fields, and what they become for the detector.
func TestFormFieldsReachTheDetector(t *testing.T) {
	t.Parallel()
	for name, c := range fieldCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := make(chan inference.Request, 1)
			content := make(chan int64, 1)
			s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
				buf := make([]byte, 1<<10)
				n, _ := r.File.ReadAt(buf, 0)
				got <- r
				content <- int64(n)
				return fake(ctx, r)
			}})
			a := s.detect(s.key("pro"), c.parts...)
			if a.status/100 != 2 {
				t.Fatalf("answered %d %s", a.status, a.raw)
			}
			r := <-got
			if r.Declared != c.declared || r.Sensitivity != c.sensitivity || r.Priority != c.priority || r.Account == "" {
				t.Errorf("the detector got %+v", r)
			}
			if want := int64(len(photo().value)); r.Size != want || <-content != want {
				t.Errorf("the detector got a file of %d bytes, want %d", r.Size, want)
			}
		})
	}
}

// A client whose polls had used up the minute was told to ask in six seconds, and was refused then.
func TestPollingKeepsToWhatIsLeft(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{plans: account.DefaultPlans(), detect: after(release)})
	defer close(release)
	key := s.key("starter")
	poll := s.detect(key, photo(), async()).ok(202).text("poll_url")
	for range 18 {
		s.get(key, poll).ok(200)
	}
	s.clock.advance(20 * time.Second)
	a := s.get(key, poll).ok(200)
	if _, remaining, reset := a.rate(); remaining != 0 || a.header.Get("Retry-After") != strconv.Itoa(reset) || reset != 40 {
		t.Errorf("%d remain for %d s, and the client is to wait for %s", remaining, reset, a.header.Get("Retry-After"))
	}
}

// A client that followed the advice of one second used up a starter's 20
// requests in 20 seconds and read 429 for the next 40: the advice leaves half of
// the plan's requests for something else.
func TestPollAdviceKeepsToThePlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perMinute         int
		want, afterMinute string
	}{
		"starter":           {20, "6", "6"},
		"pro":               {60, "2", "6"},
		"rounded up":        {50, "3", "6"},
		"a tight plan":      {10, "12", "12"},
		"a generous plan":   {1000, "1", "6"},
		"one in the minute": {1, "120", "120"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plans := account.DefaultPlans()
			plans[1].RequestsPerMinute = c.perMinute
			release := make(chan struct{})
			s := setup(t, config{plans: plans, detect: after(release)})
			defer close(release)
			key := s.key("starter")
			a := s.detect(key, photo(), async()).ok(202)
			if got := a.header.Get("Retry-After"); got != c.want {
				t.Errorf("the acceptance suggests to wait %q, want %q", got, c.want)
			}
			s.clock.advance(time.Minute)
			if got := s.get(key, a.text("poll_url")).ok(200).header.Get("Retry-After"); got != c.afterMinute {
				t.Errorf("a processing result suggests to wait %q, want %q", got, c.afterMinute)
			}
		})
	}
}

// Every client was told to ask again in a second, however long its job had waited: in a profile 900
// questions a second took about a tenth of the service's processor time, which 10,000 jobs would have multiplied.
func TestOldJobsAreAskedForLessOften(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{detect: after(release)})
	defer close(release)
	key := s.key("pro")
	at := s.detect(key, photo(), async()).ok(202).text("poll_url")
	begun := s.clock.Now()
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{29 * time.Second, "2"}, {time.Minute, "6"}, {4 * time.Minute, "24"}, {time.Hour, "30"}, {-time.Hour, "1"}} {
		s.clock.advance(begun.Add(c.age).Sub(s.clock.Now()))
		if got := s.get(key, at).ok(200).header.Get("Retry-After"); got != c.want {
			t.Errorf("that of a job %v old suggests to wait %q, want %q", c.age, got, c.want)
		}
	}
}

// Decisions: who may read a result, synchronous results, 4.2 not_found, and the
// report.
func TestWhoMayReadAResult(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if r.Priority == inference.Background {
			<-release
			return inference.Result{}, errors.New("the secret inner detail")
		}
		return fake(ctx, r)
	}})
	owner, stranger := s.key("starter"), s.key("pro")
	sync := s.detect(owner, photo()).ok(200).text("id")
	job := s.detect(owner, photo(), async()).ok(202).text("id")

	a := s.get(owner, "/v1/results/"+sync).ok(200)
	a.fields("id", "status", "verdict", "confidence", "media_type", "created_at", "completed_at")
	report := s.get(owner, "/v1/results/"+sync+"/report").ok(200)
	if report.body["probability_fake"] != 0.875 || report.body["format"] != "JPEG" {
		t.Errorf("the report is %s", report.raw)
	}
	if a := s.get(owner, "/v1/results/"+job).ok(200); a.header.Get("Retry-After") != "1" {
		t.Errorf("a processing result suggests to wait %q", a.header.Get("Retry-After"))
	}
	s.get(owner, "/v1/results/"+job+"/report").want(404, "not_found")
	close(release)
	if a := s.poll(owner, job); a.text("error") != "The service failed; nothing was counted. Retry in a moment." {
		t.Errorf("the failed job says %s", a.raw)
	}
	s.get(owner, "/v1/results/"+job+"/report").want(404, "not_found")

	never := s.get(owner, "/v1/results/det_00000000000000000000000000")
	never.want(404, "not_found")
	for _, path := range []string{"/v1/results/" + sync, "/v1/results/" + job, "/v1/results/" + sync + "/report", "/v1/results/x%2Fy", "/v1/results/%00"} {
		other := s.get(stranger, path)
		other.want(404, "not_found")
		if path[:13] == "/v1/results/d" && string(other.raw) != string(never.raw) {
			t.Errorf("%s answers %s to a stranger, %s when it never existed", path, other.raw, never.raw)
		}
	}
}

// Section 3: a job's states, and that it lasts as long as its analysis.
func TestStates(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := setup(t, config{detect: after(release)})
	key := s.key("starter")
	a := s.detect(key, async(), photo()).ok(http.StatusAccepted)
	if a.header.Get("Retry-After") == "" {
		t.Error("202 suggests no wait")
	}
	id := a.text("id")
	if got := s.get(key, a.text("poll_url")).ok(200).text("status"); got != "processing" {
		t.Errorf("the state is %s", got)
	}
	s.clock.advance(3 * time.Second)
	close(release)
	done := s.poll(key, id)
	if got := done.text("status"); got != "complete" {
		t.Errorf("the state is %s", got)
	}
	if c, d := done.text("created_at"), done.text("completed_at"); c != "2026-03-14T15:09:26.535Z" || d != "2026-03-14T15:09:29.535Z" {
		t.Errorf("created at %s, completed at %s", c, d)
	}
	if used := s.usage(key).Used; used != 1 {
		t.Errorf("%d scans were counted", used)
	}
}

// Beyond the contract: the cards of the models, and the document.
func TestModelsAndDocument(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) {
		o.Models = func() models.InUse {
			runs := models.Runs{Precision: models.Int8, File: "one-int8.onnx", SHA256: "def"}
			return models.InUse{Models: []models.Running{{Card: models.Card{Name: "one", SHA256: "abc"}, Runs: runs}}, Quality: "best", Fusion: &models.Fusion{Alone: models.Calibration{Bias: .5}}}
		}
	}})
	a := s.get(s.key("free"), "/v1/models").ok(200)
	a.fields("models", "quality", "fusion")
	for _, want := range []string{`"name":"one"`, `"sha256":"abc"`, `"running":{"precision":"int8","file":"one-int8.onnx","sha256":"def"}`, `"bias":0.5`} {
		if !strings.Contains(string(a.raw), want) {
			t.Errorf("answered %s, without %s", a.raw, want)
		}
	}
	s.get("", "/v1/models").want(401, "unauthorized")
	resp, err := s.client.Get(s.url + "/openapi.yaml")
	must(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/yaml" || resp.Header.Get("X-RateLimit-Limit") != "60" {
		t.Errorf("the document is answered %d %v", resp.StatusCode, resp.Header)
	}
}

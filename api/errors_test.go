package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// media is the detector's way to say what is wrong with a file.
func media(code preprocess.Code, message string) error {
	return &preprocess.Error{Code: code, Message: message, Err: errors.New("secret inner detail")}
}

// detectorErrors are the cases of TestDetectorErrors.
var detectorErrors = map[string]struct {
	err     error
	status  int
	code    string
	message string
}{
	"7 unsupported_media_type: unknown": {media(preprocess.UnsupportedMediaType, "The file is not a known type of media."),
		415, "unsupported_media_type", "The file is not a known type of media."},
	"decisions: a known type that cannot be decoded": {media(preprocess.UnsupportedMediaType, "The file looks like a JPEG but cannot be decoded."),
		415, "unsupported_media_type", "The file looks like a JPEG but cannot be decoded."},
	"7 content_type_mismatch": {media(preprocess.ContentTypeMismatch, "The file is audio but media_type says video."),
		415, "content_type_mismatch", "The file is audio but media_type says video."},
	"decisions: over pixel, duration or stream limits": {media(preprocess.PayloadTooLarge, "The picture has more than 64 megapixels."),
		413, "payload_too_large", "The picture has more than 64 megapixels."},
	"7 internal_error": {errors.New("secret inner detail"),
		500, "internal_error", "The service failed; nothing was counted. Retry in a moment."},
	"a code that is not in the contract": {&preprocess.Error{Code: "weird", Message: "secret inner detail"},
		500, "internal_error", "The service failed; nothing was counted. Retry in a moment."},
	"wrapped twice": {fmt.Errorf("decode: %w", media(preprocess.EmptyFile, "The uploaded file has no media in it.")),
		400, "empty_file", "The uploaded file has no media in it."},
}

// Section 7, the table of codes, and the decisions that add to it: what the
// detector says becomes the answer, to a client that waits and to one that
// polls, and nothing is counted.
func TestDetectorErrors(t *testing.T) {
	t.Parallel()
	for name, c := range detectorErrors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{detect: failing(c.err)})
			key := s.key("starter")
			a := s.detect(key, photo())
			a.want(c.status, c.code)
			if got := a.text("message"); got != c.message {
				t.Errorf("the message is %q", got)
			}
			job := s.detect(key, photo(), async()).ok(202)
			if got := s.poll(key, job.text("id")).text("error"); got != c.message {
				t.Errorf("the failed job says %q, a synchronous call %q", got, c.message)
			}
			if u := s.usage(key); u.Used != 0 || u.Remaining != u.Limit {
				t.Errorf("usage is %+v", u)
			}
			must(t, s.stop())
			once := strings.Count(s.logs.String(), "secret inner detail") - strings.Count(s.logs.at("WARN"), "secret inner detail") // of attempts
			if c.status == 500 && once != 2 {
				t.Errorf("the cause is not logged once for each failure: %s", s.logs)
			}
		})
	}
}

// Decisions: service saturated. Such a submission was not accepted, so the day
// of a free account doesn't count it.
func TestSaturatedDetector(t *testing.T) {
	t.Parallel()
	plans := widePlans()
	plans[0].Daily = 1
	s := setup(t, config{plans: plans, detect: failing(fmt.Errorf("admit: %w", &inference.SaturatedError{RetryAfter: 6100 * time.Millisecond}))})
	key := s.key("free")
	for range 2 { // the day's limit would be told with hours to wait
		a := s.detect(key, photo())
		a.want(429, "rate_limited")
		if a.body["retry_after"] != 7.0 {
			t.Errorf("retry_after is %v, want 7", a.body["retry_after"])
		}
	}
	if u := s.usage(key); u.Used != 0 {
		t.Errorf("usage is %+v", u)
	}
}

// In a flood each request that was refused for want of room cost two transactions,
// one to take a place and one to give it back, and took the time in which others
// could have been judged. The books are asked for a place once there is room for the
// file.
func TestNoRoomTouchesNoBooks(t *testing.T) {
	t.Parallel()
	var books *counted
	s := setup(t, config{api: func(o *api.Options) {
		books = &counted{Accounts: o.Accounts}
		o.Accounts = books
	}})
	key := s.key("pro")
	s.detector.full.Store(&inference.SaturatedError{RetryAfter: 1100 * time.Millisecond})
	a := s.detect(key, photo())
	a.want(429, "rate_limited")
	if after := a.body["retry_after"]; after != 2.0 {
		t.Errorf("retry_after is %v, want 2", after)
	}
	if n := books.reserved.Load(); n != 0 {
		t.Errorf("%d places were asked for without room", n)
	}
	s.detector.full.Store(nil)
	s.detect(key, photo()).ok(200)
	if n := books.reserved.Load(); n != 1 {
		t.Errorf("%d places were asked for, want 1", n)
	}
}

// counted are accounts that tell how many places were asked for, and taken back.
type counted struct {
	api.Accounts

	reserved, withdrawn atomic.Int32
}

func (c *counted) Reserve(ctx context.Context, a account.Account, s account.Submission) error {
	c.reserved.Add(1)
	return c.Accounts.Reserve(ctx, a, s)
}

func (c *counted) Withdraw(ctx context.Context, id string) error {
	c.withdrawn.Add(1)
	return c.Accounts.Withdraw(ctx, id)
}

// A place that an allowance used up had not given was taken back all the same: a transaction
// for each, and more places were withdrawn, by the metrics, than had been held.
func TestNothingIsTakenBackThatWasNotGiven(t *testing.T) {
	t.Parallel()
	books := &counted{}
	s := setup(t, config{plans: tight(1), api: func(o *api.Options) { books.Accounts, o.Accounts = unchecked{o.Accounts}, books }})
	key := s.key("pro")
	s.detect(key, photo()).ok(200)
	s.detect(key, photo()).want(402, "quota_exceeded")
	if asked, back := books.reserved.Load(), books.withdrawn.Load(); asked != 2 || back != 0 {
		t.Errorf("%d places were asked for and %d taken back, want 2 and none", asked, back)
	}
}

// unchecked are accounts whose allowance is used up by another between the two looks at it.
type unchecked struct{ api.Accounts }

func (unchecked) Check(context.Context, account.Account) error { return nil }

// A file alone that takes longer than it may is no work of others, which 429 would promise
// to be done soon.
func TestTooLong(t *testing.T) {
	t.Parallel()
	s := setup(t, config{detect: failing(inference.ErrTooLong)})
	a := s.detect(s.key("pro"), photo())
	a.want(500, "internal_error")
	if got := a.text("message"); !strings.Contains(got, "took too long") {
		t.Errorf("the message is %q", got)
	}
}

// Decisions: deadline passed while analysing.
func TestSyncDeadline(t *testing.T) {
	t.Parallel()
	s := setup(t, config{
		plans: tight(1),
		api:   func(o *api.Options) { o.SyncDeadline = 20 * time.Millisecond },
		detect: func(ctx context.Context, _ inference.Request) (inference.Result, error) {
			<-ctx.Done()
			return inference.Result{}, fmt.Errorf("run: %w", ctx.Err())
		},
	})
	key := s.key("pro")
	for range 2 { // the second shows that the only place was released
		a := s.detect(key, photo())
		a.want(500, "internal_error")
		if !strings.Contains(a.text("message"), "took too long") {
			t.Errorf("the message is %q", a.text("message"))
		}
	}
}

// tight gives every plan an allowance of n scans.
func tight(n int) []account.Plan {
	plans := widePlans()
	for i := range plans {
		plans[i].Scans = n
	}
	return plans
}

// A panic is the contract's internal_error with every header, and costs its
// request only.
func TestPanic(t *testing.T) {
	t.Parallel()
	s := setup(t, config{plans: tight(1), detect: func(context.Context, inference.Request) (inference.Result, error) {
		panic("secret inner detail")
	}})
	key := s.key("starter")
	for range 2 {
		a := s.detect(key, photo())
		a.want(500, "internal_error")
		if strings.Contains(string(a.raw), "secret") {
			t.Errorf("the answer shows the panic: %s", a.raw)
		}
	}
	id := s.detect(key, photo(), async()).ok(202).text("id")
	if got := s.poll(key, id).text("status"); got != "failed" {
		t.Errorf("the job is %s", got)
	}
	must(t, s.stop())
	if !strings.Contains(s.logs.String(), "errors_test.go") {
		t.Error("no stack was logged")
	}
}

// Decisions: unknown route and wrong method, with and without a key.
func TestUnknownRoutesAndMethods(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	for name, c := range map[string]struct {
		method, path string
		status       int
		allow        string
	}{
		"unknown":               {"GET", "/v2/usage", 404, ""},
		"root":                  {"GET", "/", 404, ""},
		"empty id":              {"GET", "/v1/results/", 404, ""},
		"trailing slash":        {"POST", "/v1/detect/", 404, ""},
		"other case":            {"GET", "/V1/Usage", 404, ""},
		"below a result":        {"GET", "/v1/results/det_x/other", 404, ""},
		"dots":                  {"GET", "/v1/../v1/usage", 404, ""},
		"GET detect":            {"GET", "/v1/detect", 405, "POST"},
		"PUT detect":            {"PUT", "/v1/detect", 405, "POST"},
		"POST usage":            {"POST", "/v1/usage", 405, "GET, HEAD"},
		"DELETE a result":       {"DELETE", "/v1/results/det_x", 405, "GET, HEAD"},
		"OPTIONS detect":        {"OPTIONS", "/v1/detect", 405, "POST"},
		"a made-up method":      {"BREW", "/v1/usage", 405, "GET, HEAD"},
		"POST healthz":          {"POST", "/healthz", 405, "GET, HEAD"},
		"PATCH a result report": {"PATCH", "/v1/results/det_x/report", 405, "GET, HEAD"},
	} {
		for _, key := range []string{"", key} {
			a := s.do(request{method: c.method, path: c.path, key: key, body: strings.NewReader("x")})
			if c.status == 404 {
				a.want(404, "not_found")
			} else {
				a.want(405, "method_not_allowed")
			}
			if got := a.header.Get("Allow"); got != c.allow {
				t.Errorf("%s: Allow is %q, want %q", name, got, c.allow)
			}
			want := "60"
			if key != "" {
				want = "100000"
			}
			if got := a.header.Get("X-RateLimit-Limit"); got != want {
				t.Errorf("%s: X-RateLimit-Limit is %s, want %s", name, got, want)
			}
		}
	}
}

// Rule 1 of section 7: the table of what a client reads.
func TestSentence(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"The plan's daily limit of 10 submissions is used up. Retry in 3600 seconds.":                                   fmt.Errorf("reserve: %w", &account.LimitError{Limit: 10, RetryAfter: time.Hour}),
		"The plan's daily limit of 1 submission is used up. Retry in 1 second.":                                         &account.LimitError{Limit: 1, RetryAfter: time.Millisecond},
		"The plan's scan allowance is used up: upgrade the plan to continue.":                                           fmt.Errorf("reserve: %w", account.ErrQuotaExceeded),
		"The service has more work than it can finish in time. Retry in 2 seconds.":                                     &inference.SaturatedError{RetryAfter: 1001 * time.Millisecond},
		"As many jobs of this account wait as the service has room left for everybody's. Retry in 2 seconds.":           fmt.Errorf("x: %w: %w", job.ErrShare, &inference.SaturatedError{RetryAfter: 2 * time.Second}),
		"The service is shutting down; nothing was counted. Submit the file again.":                                     fmt.Errorf("x: %w", job.ErrClosed),
		"The analysis took too long and was stopped; nothing was counted. Retry in a moment.":                           fmt.Errorf("x: %w", job.ErrTooLate),
		"The upload could not be fetched from the service's store in time; nothing was counted. Submit the file again.": fmt.Errorf("x: %w: %w", job.ErrSlow, context.Canceled),
		"The service has no room for the upload right now; nothing was counted. Retry in a moment.":                     fmt.Errorf("x: %w", spool.ErrFull),
		"The service can't put the upload into its store right now; nothing was counted. Retry in a moment.":            fmt.Errorf("x: %w: %w", spool.ErrAway, context.DeadlineExceeded),
		"The upload was lost before its analysis; nothing was counted. Submit the file again.":                          fmt.Errorf("x: %w", spool.ErrLost),
		// A database that did not answer in time was told as an analysis that took too long.
		"The service failed; nothing was counted. Retry in a moment.": fmt.Errorf("connect to the database: %w", context.DeadlineExceeded),
	} {
		if got := api.Sentence(err); got != want {
			t.Errorf("%v is worded %q, want %q", err, got, want)
		}
	}
}

// Probes need no key and are never refused, yet have the headers of all.
func TestProbes(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	for range 70 {
		s.get("", "/healthz").ok(200).fields("status")
	}
	if a := s.get("", "/readyz").ok(200); a.header.Get("X-RateLimit-Remaining") != "60" {
		t.Errorf("a probe was counted: %v", a.header)
	}
	s.do(request{method: "HEAD", path: "/readyz"}).ok(200)
	for _, path := range []string{"/v1/usage", "/v1/models"} { // what looks whether a link is dead asks so
		s.do(request{method: "HEAD", path: path, key: s.key("pro")}).ok(200)
	}
	s.do(request{method: "HEAD", path: "/v1/usage"}).ok(401)
	s.server.SetReady(errors.New("no model judges images"))
	s.get("", "/readyz").want(503, "not_ready")
	s.get("", "/healthz").ok(200)
	key := s.key("pro")
	// A service that was loading its models answered 500, by which monitors woke people at every start.
	refused := s.detect(key, photo())
	refused.want(503, "internal_error")
	if got := refused.header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After is %q", got)
	}
	s.get(key, "/v1/usage").ok(200)
	for reason, words := range map[error]string{errors.New("no model judges images"): "not ready: no model judges images. Retry in 2 seconds.", fmt.Errorf("it %w", api.ErrNotStarted): "could not be started"} {
		s.server.SetReady(reason)
		if got := s.detect(key, photo()).text("message"); !strings.Contains(got, words) {
			t.Errorf("with %v the message is %q", reason, got)
		}
	}
	s.server.SetReady(nil)
	s.get("", "/readyz").ok(200)
	s.detect(key, photo()).ok(200)
}

// The id of a request is the client's, when it is fit to be one.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	for id, kept := range map[string]bool{
		"abc-123_~.:/+=@": true, strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false, "a b": false, "<x>": false, "é": false,
	} {
		a := s.do(request{method: "GET", path: "/healthz", header: map[string]string{"X-Request-ID": id}})
		if got := a.header.Get("X-Request-ID"); (got == id) != kept {
			t.Errorf("%q was answered with %q", id, got)
		}
	}
	one, two := s.get("", "/healthz"), s.get("", "/healthz")
	if one.header.Get("X-Request-ID") == two.header.Get("X-Request-ID") {
		t.Error("two requests were given the same id")
	}
	must(t, s.stop())
	if !strings.Contains(s.logs.String(), `"request_id":"abc-123_~.:/+=@"`) {
		t.Errorf("an id is not in the log: %s", s.logs)
	}
}

// The access line says nothing about what was uploaded.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("starter")
	s.detect(key, photo()).ok(200)
	s.get(key, "/v1/private/path").want(404, "not_found")
	s.neverLogged("secret name", key, "0.875", "private", "fake detector")
	logged := s.logs.at("INFO")
	for _, want := range []string{`"route":"/v1/detect"`, `"status":200`, `"account":"acc_`, `"code":"not_found"`, `"method":"POST"`} {
		if strings.Count(logged, want) != 1 && want != `"account":"acc_` {
			t.Errorf("the log lacks %s:\n%s", want, logged)
		}
	}
	if n := strings.Count(logged, "\n"); n != 2 {
		t.Errorf("two requests made %d lines:\n%s", n, logged)
	}
}

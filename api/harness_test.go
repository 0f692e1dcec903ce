package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/preprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// detector is a fake for outcomes: the real one has its own end-to-end tests.
type detector struct {
	detect func(context.Context, inference.Request) (inference.Result, error)
}

func (d *detector) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	return d.detect(ctx, r)
}

// fake is what a detector says when nothing is wrong.
func fake(context.Context, inference.Request) (inference.Result, error) {
	return inference.Result{
		Verdict: inference.Fake, Confidence: 0.875, Kind: preprocess.Image,
		Report: inference.Report{ProbabilityFake: 0.875, Threshold: 0.5, Format: "JPEG"},
	}, nil
}

func failing(err error) func(context.Context, inference.Request) (inference.Result, error) {
	return func(context.Context, inference.Request) (inference.Result, error) { return inference.Result{}, err }
}

// clock is set by the tests; it stands still otherwise.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// logs collects what the server writes.
type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// service is a real server on a free port with real accounts in SQLite.
type service struct {
	t        testing.TB
	url      string
	server   *api.Server
	ledger   *account.Ledger
	spool    *spool.Spool
	spoolDir string
	runner   *job.Runner
	detector *detector
	clock    *clock
	logs     *logs
	client   *http.Client
	options  api.Options
	stop     func() error
}

// config is what a test may want different.
type config struct {
	plans    []account.Plan
	api      func(*api.Options)
	jobs     job.Options
	capacity int64
	detect   func(context.Context, inference.Request) (inference.Result, error)
}

// widePlans are the contract's without its limits on requests, for tests of
// something else.
func widePlans() []account.Plan {
	plans := account.DefaultPlans()
	for i := range plans {
		plans[i].RequestsPerMinute = 100_000
		plans[i].Daily *= 10_000
	}
	return plans
}

func setup(t testing.TB, cfg config) *service {
	t.Helper()
	if cfg.plans == nil {
		cfg.plans = widePlans()
	}
	if cfg.detect == nil {
		cfg.detect = fake
	}
	if cfg.jobs.Workers == 0 {
		cfg.jobs = job.DefaultOptions()
	}
	data := t.TempDir()
	s := &service{
		t: t, spoolDir: filepath.Join(data, "spool"), logs: &logs{},
		clock:    &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_897_932, time.UTC)},
		detector: &detector{detect: cfg.detect},
		client:   &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute, MaxIdleConnsPerHost: 64}},
	}
	books, err := store.Open(t.Context(), data, store.DefaultOptions())
	must(t, err)
	t.Cleanup(func() { must(t, books.Close()) })
	s.ledger, err = account.New(books, account.Options{Plans: cfg.plans, Now: s.clock.Now})
	must(t, err)
	s.spool, err = spool.New(spool.Options{Dir: s.spoolDir, Capacity: cfg.capacity})
	must(t, err)
	s.start(cfg)
	return s
}

// start runs the server and ends it with the test, and sees that nothing of the
// uploads is left.
func (s *service) start(cfg config) {
	s.t.Helper()
	logger := slog.New(slog.NewJSONHandler(s.logs, nil))
	limits := account.DefaultLimiterOptions()
	limits.Now = s.clock.Now
	limiter, err := account.NewLimiter(limits)
	must(s.t, err)
	s.runner, err = job.New(job.Deps{
		Detector: s.detector, Books: s.ledger, Sentence: api.Sentence, Logger: logger,
	}, cfg.jobs)
	must(s.t, err)
	opts := api.DefaultOptions()
	opts.Listen = "127.0.0.1:0"
	opts.Detector, opts.Accounts, opts.Limiter = s.detector, s.ledger, limiter
	opts.Jobs, opts.Spool, opts.Logger = s.runner, s.spool, logger
	opts.FileBytes, opts.FormBytes = 1<<20, 64<<10
	opts.Pace.LingerTime = 2 * time.Second
	opts.Drain = 5 * time.Second
	if cfg.api != nil {
		cfg.api(&opts)
	}
	s.options = opts
	s.server, err = api.New(opts)
	must(s.t, err)
	s.server.SetReady(nil)
	s.url = "http://" + s.server.Addr().String()
	s.serve()
}

func (s *service) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-served, s.runner.Close(context.Background()))
	})
	s.t.Cleanup(func() {
		s.client.CloseIdleConnections()
		must(s.t, s.stop())
		s.checkSpoolEmpty()
	})
}

func (s *service) checkSpoolEmpty() {
	s.t.Helper()
	if files, size := s.spool.Usage(); files != 0 || size != 0 {
		s.t.Errorf("%d uploads with %d bytes are still open", files, size)
	}
	entries, err := os.ReadDir(s.spoolDir)
	must(s.t, err)
	if len(entries) != 0 {
		s.t.Errorf("the spool folder holds %v", entries)
	}
	fds, err := filepath.Glob("/proc/self/fd/*")
	must(s.t, err)
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, s.spoolDir) {
			s.t.Errorf("a descriptor of %s is still open", target)
		}
	}
}

// key makes a key for a new account with the plan.
func (s *service) key(plan string) string {
	s.t.Helper()
	k, err := s.ledger.CreateKey(context.Background(), "account-"+strconv.Itoa(nextAccount()), plan)
	must(s.t, err)
	return k.Token
}

var accounts struct {
	sync.Mutex
	n int
}

func nextAccount() int {
	accounts.Lock()
	defer accounts.Unlock()
	accounts.n++
	return accounts.n
}

// use makes n successful detections for the key's account.
func (s *service) use(key string, n int) {
	s.t.Helper()
	a, err := s.ledger.Authenticate(context.Background(), key)
	must(s.t, err)
	for range n {
		id := account.NewDetectionID()
		must(s.t, s.ledger.Reserve(context.Background(), a, account.Submission{ID: id, Sensitivity: "balanced"}))
		_, err := s.ledger.Settle(context.Background(), id, account.Outcome{Kind: "image", Verdict: "real", Confidence: .5})
		must(s.t, err)
	}
}

// reserved is how many places the key's account has left.
func (s *service) usage(key string) account.Usage {
	s.t.Helper()
	a, err := s.ledger.Authenticate(context.Background(), key)
	must(s.t, err)
	u, err := s.ledger.Usage(context.Background(), a)
	must(s.t, err)
	return u
}

// answer is a response that has been checked for what all of them have.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	closes bool // the connection, after this answer
	body   map[string]any
}

// request is one call; zero fields are left out.
type request struct {
	method, path, key string
	header            map[string]string
	contentType       string
	body              io.Reader
	length            int64 // declared; 0: as the body says
}

func (s *service) do(r request) answer {
	s.t.Helper()
	a, err := s.try(r)
	must(s.t, err)
	return a
}

func (s *service) try(r request) (answer, error) {
	req, err := http.NewRequestWithContext(context.Background(), r.method, s.url+r.path, r.body)
	if err != nil {
		return answer{}, err
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if r.length != 0 {
		req.ContentLength = r.length
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	return newAnswer(s.t, resp)
}

// newAnswer checks what every answer must have: the rate limit headers, an id,
// JSON, and the error shape when it is one.
func newAnswer(t testing.TB, resp *http.Response) (answer, error) {
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{t: t, status: resp.StatusCode, header: resp.Header, raw: raw, closes: resp.Close}
	for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if n, err := strconv.Atoi(resp.Header.Get(name)); err != nil || n < 0 {
			t.Errorf("%d: %s is %q", a.status, name, resp.Header.Get(name))
		}
	}
	if resp.Header.Get("X-Request-ID") == "" {
		t.Errorf("%d: no X-Request-ID", a.status)
	}
	if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
		t.Errorf("%d: Content-Type is %q", a.status, got)
	}
	if resp.Request != nil && resp.Request.Method == http.MethodHead {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a.body); err != nil {
		t.Errorf("%d: the body %q is not a JSON object: %v", a.status, raw, err)
	}
	a.checkShape()
	return a, nil
}

// checkShape holds errors to the contract's shape.
func (a answer) checkShape() {
	a.t.Helper()
	if a.status < 400 {
		return
	}
	want := []string{"error", "message"}
	if a.status == http.StatusTooManyRequests {
		want = append(want, "retry_after")
		after, _ := a.body["retry_after"].(float64)
		if after < 1 || after != float64(int(after)) {
			a.t.Errorf("retry_after is %v", a.body["retry_after"])
		}
		if got := a.header.Get("Retry-After"); got != strconv.Itoa(int(after)) {
			a.t.Errorf("Retry-After is %q beside retry_after %v", got, after)
		}
		if message := fmt.Sprint(a.body["message"]); !strings.Contains(message, strconv.Itoa(int(after))+" second") {
			a.t.Errorf("the message %q does not name the wait of %v seconds", message, after)
		}
	} else if a.header.Get("Retry-After") != "" {
		a.t.Errorf("%d: Retry-After without retry_after", a.status)
	}
	a.fields(want...)
	if message := fmt.Sprint(a.body["message"]); !strings.HasSuffix(message, ".") || len(message) < 20 {
		a.t.Errorf("%d: the message %q is no sentence", a.status, message)
	}
}

// fields fails unless the body has exactly these.
func (a answer) fields(want ...string) {
	a.t.Helper()
	got := slices.Sorted(maps.Keys(a.body))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		a.t.Errorf("%d: the body has the fields %v, want %v", a.status, got, want)
	}
}

// want fails unless the answer is the error with this status and code.
func (a answer) want(status int, code string) {
	a.t.Helper()
	if got := fmt.Sprint(a.body["error"]); a.status != status || got != code {
		a.t.Errorf("answered %d %s (%v), want %d %s", a.status, got, a.body["message"], status, code)
	}
}

// ok fails unless the answer has this status.
func (a answer) ok(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("answered %d %s, want %d", a.status, a.raw, status)
	}
	return a
}

func (a answer) text(field string) string {
	a.t.Helper()
	s, ok := a.body[field].(string)
	if !ok {
		a.t.Fatalf("the field %s is %v", field, a.body[field])
	}
	return s
}

// part is a field of a form, in order.
type part struct {
	name, value string
	file        bool
}

func file(value string) part        { return part{name: "file", value: value, file: true} }
func field(name, value string) part { return part{name: name, value: value} }
func photo() part                   { return file("\xff\xd8\xff\xe0 not looked at by the fake detector") }
func async() part                   { return field("async", "true") }
func zeros(n int) part              { return file(string(make([]byte, n))) }

// form encodes the parts.
func form(t testing.TB, parts ...part) (contentType string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	for _, p := range parts {
		h := textproto.MIMEHeader{"Content-Disposition": {`form-data; name="` + p.name + `"`}}
		if p.file {
			h.Set("Content-Disposition", `form-data; name="`+p.name+`"; filename="secret name.jpg"`)
			h.Set("Content-Type", "image/jpeg")
		}
		to, err := w.CreatePart(h)
		must(t, err)
		_, err = io.WriteString(to, p.value)
		must(t, err)
	}
	must(t, w.Close())
	return w.FormDataContentType(), out.Bytes()
}

// detect submits a form.
func (s *service) detect(key string, parts ...part) answer {
	s.t.Helper()
	contentType, body := form(s.t, parts...)
	return s.do(request{method: "POST", path: "/v1/detect", key: key, contentType: contentType, body: bytes.NewReader(body)})
}

func (s *service) get(key, path string) answer {
	s.t.Helper()
	return s.do(request{method: "GET", path: path, key: key})
}

// poll reads a result until it is no longer processing.
func (s *service) poll(key, id string) answer {
	s.t.Helper()
	for {
		a := s.get(key, "/v1/results/"+id).ok(http.StatusOK)
		if a.body["status"] != "processing" {
			return a
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

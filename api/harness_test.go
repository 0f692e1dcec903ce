package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/report"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/models"
	"deepfaked/preprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// detector is a fake for outcomes: the real one has its own end-to-end tests.
type detector struct {
	detect func(context.Context, inference.Request) (inference.Result, error)
	full   atomic.Pointer[inference.SaturatedError] // set: there is no room
}

func (d *detector) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	if err := d.full.Load(); err != nil {
		return inference.Result{}, err
	}
	if r.Admitted != nil { // a job has its place
		if err := r.Admitted(); err != nil {
			return inference.Result{}, err
		}
	}
	return d.detect(ctx, r)
}

// fake is what a detector says when nothing is wrong.
func fake(context.Context, inference.Request) (inference.Result, error) {
	return inference.Result{
		Verdict: inference.Fake, Confidence: 0.875, Kind: preprocess.Image,
		Report: inference.Report{ProbabilityFake: 0.875, Threshold: 0.5, Format: "JPEG"},
	}, nil
}

// notMedia is what a detector says of a file that is nothing it knows.
var notMedia = &preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: "The file is not a known type of media."}

// after is what a detector says once it is let go on.
func after(release <-chan struct{}) func(context.Context, inference.Request) (inference.Result, error) {
	return func(ctx context.Context, r inference.Request) (inference.Result, error) {
		<-release
		return fake(ctx, r)
	}
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

// at is what was written at one level.
func (l *logs) at(level string) string {
	var out strings.Builder
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, `"level":"`+level+`"`) {
			out.WriteString(line)
		}
	}
	return out.String()
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
	books    *store.Store
	process  *store.Process
	client   *http.Client
	options  api.Options
	served   chan struct{} // closed once Serve has returned
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

// emptyBooks is a database with all its tables, made once: under the race
// detector that takes longer than most tests.
var emptyBooks = sync.OnceValues(func() ([]byte, error) {
	data, err := os.MkdirTemp("", "deepfaked-api-test-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(data) }()
	books, err := store.Open(context.Background(), data, store.DefaultOptions())
	if err != nil {
		return nil, err
	}
	if err := errors.Join(job.Migrate(context.Background(), books), books.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(data, store.FileName))
})

// newData is a data folder with a database of its own.
func newData(t testing.TB) string {
	t.Helper()
	data := t.TempDir()
	books, err := emptyBooks()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(data, store.FileName), books, 0o600))
	return data
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
		cfg.jobs = jobOptions(4, 256)
	}
	data := newData(t)
	s := &service{
		t: t, spoolDir: filepath.Join(data, "spool"), logs: &logs{},
		clock:    &clock{now: time.Date(2026, 3, 14, 15, 9, 26, 535_897_932, time.UTC)},
		detector: &detector{detect: cfg.detect},
		client:   &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute, MaxIdleConnsPerHost: 64}},
	}
	books, err := store.Open(t.Context(), data, store.DefaultOptions())
	must(t, err)
	t.Cleanup(func() { must(t, books.Close()) })
	s.books = books
	s.process, err = books.Join(t.Context(), slog.New(slog.DiscardHandler))
	must(t, err)
	s.ledger, err = account.New(books, account.Options{Plans: cfg.plans, Now: s.clock.Now, Process: s.process, Alone: true})
	must(t, err)
	s.spool, err = spool.New(spool.Options{Dir: s.spoolDir, Park: filepath.Join(data, "jobs"), Capacity: cfg.capacity, Memory: 1 << 20})
	must(t, err)
	s.start(cfg)
	return s
}

// start runs the server and ends it with the test, and sees that nothing of the
// uploads is left.
func (s *service) start(cfg config) {
	s.t.Helper()
	logger := slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	limits := account.DefaultLimiterOptions()
	limits.Now = s.clock.Now
	limiter, err := account.NewLimiter(limits)
	must(s.t, err)
	addresses, err := account.NewLimiter(limits)
	must(s.t, err)
	s.runner, err = job.New(s.t.Context(), job.Deps{
		Detector: s.detector, Books: s.ledger, Store: s.books, Process: s.process, Uploads: s.spool, Sentence: api.Sentence, Logger: logger,
	}, cfg.jobs)
	must(s.t, err)
	must(s.t, s.runner.Start(s.t.Context()))
	opts := api.DefaultOptions()
	opts.Listen = "127.0.0.1:0"
	opts.Detector, opts.Accounts, opts.Limiter = s.detector, s.ledger, limiter
	opts.Addresses, opts.Models = addresses, func() models.InUse { return models.InUse{} }
	opts.Jobs, opts.Spool, opts.Logger, opts.Now = s.runner, s.spool, logger, s.clock.Now
	key, err := report.NewKey()
	must(s.t, err)
	opts.Signer, err = report.NewSigner(key)
	must(s.t, err)
	opts.FileBytes, opts.FormBytes = 1<<20, 64<<10
	opts.Pace.LingerTime = time.Minute
	opts.Drain = time.Minute
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
	var err error
	s.served = make(chan struct{})
	go func() {
		defer close(s.served)
		err = s.server.Serve(ctx)
	}()
	s.stop = sync.OnceValue(func() error {
		cancel()
		<-s.served
		return errors.Join(err, s.runner.Close(context.Background()))
	})
	s.t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.jobsDone()
		must(s.t, s.stop())
		s.checkSpoolEmpty()
	})
}

// jobsDone waits until no job is left, and no upload of one: the last goes after
// its result is there.
func (s *service) jobsDone() {
	s.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); <-tick.C {
		left := 0
		must(s.t, s.books.Reader().QueryRow(`SELECT count(*) FROM detections WHERE state = 'processing' AND mode = 'async'`).Scan(&left))
		parked, err := s.spool.Parked(context.Background())
		must(s.t, err)
		if left+len(parked) == 0 {
			return
		}
	}
	s.t.Error("there are jobs that don't end")
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
	k, err := s.ledger.CreateKey(context.Background(), fmt.Sprint("account-", accounts.Add(1)), plan)
	must(s.t, err)
	return k.Token
}

var accounts atomic.Int64 // made so far

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

// usage is what the key's account has used.
func (s *service) usage(key string) account.Usage {
	s.t.Helper()
	a, err := s.ledger.Authenticate(context.Background(), key)
	must(s.t, err)
	u, err := s.ledger.Usage(context.Background(), a)
	must(s.t, err)
	return u
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

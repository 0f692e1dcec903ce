package inference_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/policy"
	"deepfaked/models"
)

// rig is a model behind a scheduler behind HTTP, and its sessions besides, for
// those who run them in a loop while the scheduler has nothing to do.
type rig struct {
	model     string
	on        ort.Provider
	sessions  []*ort.Session
	scheduler *inference.Scheduler
	url       string
	client    *http.Client
	runs      atomic.Int64 // of the scheduler
	rows      atomic.Int64 // in them
	row       []byte       // the body of a request, of a model that takes bytes
}

// serviceLoad is what a provider is shown as the service would: the largest batch
// (cmd/deepfaked/engine.go), and the clients of each session at saturation. While a GPU
// runs its batch as many gather for the next, or half of the time it would wait for them.
func serviceLoad(on ort.Provider) (batch, clients int) {
	if on == ort.CPU {
		return 8, 8
	}
	return 64, 128
}

// newRig has what the service has where models run. On a CPU these are as many sessions
// of one thread as are asked for, and of the kernel, for as long as the process lives, the
// policy; on a GPU those of the service, each used by one thread. What it asks of Go is
// the same.
func newRig(b *testing.B, model *models.Model, sessions int) *rig {
	b.Helper()
	env := openProvider(b, sessions)
	r := &rig{model: model.Card.Name, on: env.Provider()}
	if r.on != ort.CPU {
		model = model.In(models.TF32) // as the service has it there
	}
	batch, _ := serviceLoad(r.on)
	var err error
	if r.sessions, err = env.NewSessions(model, batch); err != nil {
		b.Fatal(err)
	}
	r.row = make([]byte, len(r.sessions[0].Row(0).U8))
	model.Card.Golden.Fill(models.Row{U8: r.row})
	r.schedule(b)
	r.serve(b)
	before := runtime.GOMAXPROCS(ort.Cores() + len(r.sessions))
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
	r.stay()
	if r.on != ort.CPU {
		return r
	}
	if err := errors.Join(policy.Batch(), policy.HugePages()); err != nil {
		b.Log(err)
	}
	return r
}

// openProvider opens the provider that DEEPFAKED_TEST_PROVIDER names, the CPU without it.
// What was asked for by name and is not there fails: it was always the CPU, and
// scripts/gpu-check told its figures as those of a GPU.
func openProvider(b *testing.B, sessions int) *ort.Environment {
	b.Helper()
	named := os.Getenv("DEEPFAKED_TEST_PROVIDER")
	opts := ort.Options{
		Library: os.Getenv("DEEPFAKED_ONNXRUNTIME"), Provider: ort.Provider(cmp.Or(named, string(ort.CPU))),
		IntraOpThreads: 1, Logger: slog.New(slog.DiscardHandler),
	}
	switch opts.Provider {
	case ort.Auto:
		b.Fatal("DEEPFAKED_TEST_PROVIDER must be cpu, cuda or tensorrt: auto could mean any")
	case ort.CPU:
		opts.Sessions = sessions
	}
	env, err := ort.Open(opts)
	if errors.Is(err, ort.ErrNoLibrary) && named == "" {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = env.Close() })
	return env
}

// stay keeps the goroutine that calls it on its thread for good, where sessions want that
// of who runs them. The thread ends with the goroutine.
func (r *rig) stay() {
	if r.on != ort.CPU {
		runtime.LockOSThread()
	}
}

// counted is a session that counts what the scheduler runs.
type counted struct {
	*ort.Session

	runs, rows *atomic.Int64
}

func (c counted) Run(n int) ([]float32, error) {
	c.runs.Add(1)
	c.rows.Add(int64(n))
	return c.Session.Run(n)
}

func builtin(b *testing.B, task models.Task) *models.Model {
	b.Helper()
	all, err := models.Builtin()
	if err != nil {
		b.Fatal(err)
	}
	all = models.Whole(all)
	i := slices.IndexFunc(all, func(m *models.Model) bool { return m.Card.Task == task })
	return all[i]
}

// tiny is a model that takes next to no time: the mean of 48 bytes.
func tiny(b *testing.B) *models.Model {
	b.Helper()
	onnx, err := os.ReadFile(filepath.Join("ort", "testdata", "bytes.onnx"))
	if err != nil {
		b.Fatal(err)
	}
	return &models.Model{ONNX: onnx, Card: models.Card{
		Name: "tiny", Input: models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 4, 4, 3}},
		Output: models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1}},
	}}
}

func (r *rig) schedule(b *testing.B) {
	b.Helper()
	var executors []inference.Executor
	for _, s := range r.sessions {
		executors = append(executors, inference.Executor{r.model: counted{s, &r.runs, &r.rows}})
	}
	opts := inference.DefaultSchedulerOptions()
	opts.LockThreads = r.on != ort.CPU
	if r.on == ort.CPU {
		opts.Computing = policy.Computing
	}
	var err error
	if r.scheduler, err = inference.NewScheduler(opts, executors); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(r.scheduler.Close)
	for _, s := range r.sessions {
		times, err := s.Time(500 * time.Millisecond)
		if err != nil {
			b.Fatal(err)
		}
		for i, size := range s.Sizes() {
			r.scheduler.Seed(r.model, size, times[i])
		}
	}
}

// serve answers with the result for the row in the body.
func (r *rig) serve(b *testing.B) {
	b.Helper()
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.POST("/", handler(r.judge))
	engine.POST("/bare", handler(func(_ context.Context, row []byte) ([]float32, error) {
		copy(r.sessions[0].Row(0).U8, row)
		return r.sessions[0].Run(1)
	}))
	engine.POST("/empty", handler(func(context.Context, []byte) ([]float32, error) { return []float32{0}, nil }))
	server := httptest.NewServer(engine)
	b.Cleanup(server.Close)
	r.url, r.client = server.URL, server.Client()
	r.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 1024
}

// bodies are used again, as those of uploads are.
var bodies sync.Pool

func handler(judge func(context.Context, []byte) ([]float32, error)) gin.HandlerFunc {
	return func(c *gin.Context) {
		row, _ := bodies.Get().([]byte)
		row = slices.Grow(row[:0], int(c.Request.ContentLength))[:c.Request.ContentLength]
		defer bodies.Put(row) //nolint:staticcheck // the header of a slice is nothing beside a row
		if _, err := io.ReadFull(c.Request.Body, row); err != nil {
			c.Status(http.StatusBadRequest)
			return
		}
		logits, err := judge(c.Request.Context(), row)
		if err != nil {
			c.Status(http.StatusInternalServerError)
			return
		}
		c.JSON(http.StatusOK, gin.H{"logit": logits[0]})
	}
}

func (r *rig) judge(ctx context.Context, row []byte) ([]float32, error) {
	return r.scheduler.Run(ctx, inference.Work{
		Model: r.model, Rows: 1, Fill: func(_ int, dst models.Row) { copy(dst.U8, row) },
	})
}

func (r *rig) post(b *testing.B, url string) {
	b.Helper()
	answer, err := r.client.Post(url, "application/octet-stream", bytes.NewReader(r.row))
	if err != nil {
		b.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		b.Error(answer.Status)
	}
}

// raw runs a batch of n rows as a loop would that has nothing else to do.
func (r *rig) raw(b *testing.B, s *ort.Session, n int) {
	b.Helper()
	for i := range n {
		copy(s.Row(i).U8, r.row)
	}
	if _, err := s.Run(n); err != nil {
		b.Error(err)
	}
}

// timed is how long do takes.
func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// BenchmarkOverheadAtLowLoad is what a row costs its caller besides its model, which here takes next to no time.
// Everything is measured in turns. All figures are medians:
//   - overhead-p50-us: how much longer a request over HTTP takes, client included, than Run on the same session;
//   - scheduler-p50-us: how much longer the scheduler alone takes than Run;
//   - handler-p50-us: what a bare gin handler takes that reads the same body and answers, without a model;
//   - overhead-ratio: the first divided by the third. At one, all of the overhead is HTTP and gin.
func BenchmarkOverheadAtLowLoad(b *testing.B) {
	r := newRig(b, tiny(b), 1)
	r.post(b, r.url) // connects
	var whole, scheduled, handlers []time.Duration
	for b.Loop() {
		r.raw(b, r.sessions[0], 1) // warms the caches for both
		bare := timed(func() { r.raw(b, r.sessions[0], 1) })
		scheduled = append(scheduled, timed(func() { _, _ = r.judge(b.Context(), r.row) })-bare)
		bare = timed(func() { r.raw(b, r.sessions[0], 1) })
		whole = append(whole, timed(func() { r.post(b, r.url) })-bare)
		handlers = append(handlers, timed(func() { r.post(b, r.url+"/empty") }))
	}
	b.ReportMetric(micros(median(whole)), "overhead-p50-us")
	b.ReportMetric(micros(median(scheduled)), "scheduler-p50-us")
	b.ReportMetric(micros(median(handlers)), "handler-p50-us")
	b.ReportMetric(float64(median(whole))/float64(median(handlers)), "overhead-ratio")
	b.ReportMetric(0, "ns/op") // of all together: it says nothing
}

// BenchmarkLightModel is how long a row of 151 kB takes with the built-in face
// model: in a loop (loop-p50-us), in a handler that does nothing but Run
// (handler-p50-us) and through the scheduler as well (service-p50-us). Between two
// messages the model runs, and the machine's other threads fall asleep: that a
// handler takes so much longer than a loop is the time to wake them.
func BenchmarkLightModel(b *testing.B) {
	r := newRig(b, builtin(b, models.FaceManipulation), 1)
	r.post(b, r.url)
	var loop, handler, service []time.Duration
	for b.Loop() {
		loop = append(loop, timed(func() { r.raw(b, r.sessions[0], 1) }))
		handler = append(handler, timed(func() { r.post(b, r.url+"/bare") }))
		service = append(service, timed(func() { r.post(b, r.url) }))
	}
	b.ReportMetric(micros(median(loop)), "loop-p50-us")
	b.ReportMetric(micros(median(handler)), "handler-p50-us")
	b.ReportMetric(micros(median(service)), "service-p50-us")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkOverheadAtSaturation is how much less is done when many clients post
// rows, their own work included, than by a loop over the same sessions, which
// share the cores out: the median over turns of half a second each
// (saturation-loss-%), and the same of the rows for a second of processor time
// (saturation-loss-cpu-%), which what else runs on the machine leaves alone. The
// loop's batches have the size at which a row costs least.
func BenchmarkOverheadAtSaturation(b *testing.B) {
	const turn = 500 * time.Millisecond
	r := newRig(b, builtin(b, models.FaceManipulation), runtime.NumCPU())
	best := r.cheapest(b)
	_, clients := serviceLoad(r.on)
	var losses, work []float64
	for b.Loop() {
		bare, bareWork := rate(turn, len(r.sessions), func(i int) func() int {
			r.stay()
			r.raw(b, r.sessions[i], best) // CUDA sets itself up on each thread
			return func() int { r.raw(b, r.sessions[i], best); return best }
		})
		whole, wholeWork := rate(turn, clients*len(r.sessions), func(int) func() int {
			return func() int { r.post(b, r.url); return 1 }
		})
		losses = append(losses, 100*(1-whole/bare))
		work = append(work, 100*(1-wholeWork/bareWork))
	}
	b.ReportMetric(median(losses), "saturation-loss-%")
	b.ReportMetric(median(work), "saturation-loss-cpu-%")
	b.ReportMetric(float64(best), "loop-batch")
	b.ReportMetric(float64(r.rows.Load())/float64(r.runs.Load()), "service-batch")
	b.ReportMetric(0, "ns/op")
}

// cheapest is the size of batches at which a row costs least.
func (r *rig) cheapest(b *testing.B) (best int) {
	b.Helper()
	var least time.Duration
	for _, size := range r.sessions[0].Sizes() {
		var took []time.Duration
		for range 10 {
			took = append(took, timed(func() { r.raw(b, r.sessions[0], size) })/time.Duration(size))
		}
		if m := median(took); best == 0 || m < least {
			best, least = size, m
		}
	}
	return best
}

// rate is how many rows workers do that go on for so long, for each second that
// passes and for each of processor time. Each is made on its own goroutine, and all
// before the first begins.
func rate(length time.Duration, workers int, worker func(i int) (do func() (rows int))) (throughput, work float64) {
	var rows atomic.Int64
	var made, all sync.WaitGroup
	var start time.Time
	begin := make(chan struct{})
	made.Add(workers)
	for i := range workers {
		all.Go(func() {
			do := worker(i)
			made.Done()
			<-begin
			for time.Since(start) < length {
				rows.Add(int64(do()))
			}
		})
	}
	made.Wait()
	used := processor()
	start = time.Now()
	close(begin)
	all.Wait()
	n := float64(rows.Load())
	return n / time.Since(start).Seconds(), n / (processor() - used).Seconds()
}

// processor is the processor time of this process until now.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median[T int64 | float64 | time.Duration](all []T) T {
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

package inference_test

import (
	"bytes"
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
	sessions  []*ort.Session
	scheduler *inference.Scheduler
	url       string
	client    *http.Client
	runs      atomic.Int64 // of the scheduler
	rows      atomic.Int64 // in them
	row       []byte       // the body of a request, of a model that takes bytes
}

// newRig has one session of one thread for each core, as many as are asked for, and
// what the service asks of Go and, for as long as the process lives, of the kernel where
// models run on the CPU.
func newRig(b *testing.B, model *models.Model, sessions int) *rig {
	b.Helper()
	opts := ort.Options{
		Library: os.Getenv("DEEPFAKED_ONNXRUNTIME"), Provider: ort.CPU, Sessions: sessions, IntraOpThreads: 1,
		Logger: slog.New(slog.DiscardHandler),
	}
	env, err := ort.Open(opts)
	if errors.Is(err, ort.ErrNoLibrary) {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = env.Close() })
	r := &rig{model: model.Card.Name}
	if r.sessions, err = env.NewSessions(model, 8); err != nil {
		b.Fatal(err)
	}
	r.row = make([]byte, len(r.sessions[0].Row(0).U8))
	model.Card.Golden.Fill(models.Row{U8: r.row})
	r.schedule(b)
	r.serve(b)
	before := runtime.GOMAXPROCS(ort.Cores() + sessions)
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
	if err := errors.Join(policy.Batch(), policy.HugePages()); err != nil {
		b.Log(err)
	}
	return r
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
	var err error
	if r.scheduler, err = inference.NewScheduler(inference.DefaultSchedulerOptions(), executors); err != nil {
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

// BenchmarkOverheadAtLowLoad is what a row costs its caller besides its model,
// which here takes next to no time: the median over pairs, one after the other, of
// the time of a request over HTTP, client included, and that of Run on the same
// session (overhead-p50-us), and the same of the scheduler alone.
func BenchmarkOverheadAtLowLoad(b *testing.B) {
	r := newRig(b, tiny(b), 1)
	r.post(b, r.url) // connects
	var whole, scheduled []time.Duration
	for b.Loop() {
		r.raw(b, r.sessions[0], 1) // warms the caches for both
		bare := timed(func() { r.raw(b, r.sessions[0], 1) })
		scheduled = append(scheduled, timed(func() { _, _ = r.judge(b.Context(), r.row) })-bare)
		bare = timed(func() { r.raw(b, r.sessions[0], 1) })
		whole = append(whole, timed(func() { r.post(b, r.url) })-bare)
	}
	b.ReportMetric(micros(median(whole)), "overhead-p50-us")
	b.ReportMetric(micros(median(scheduled)), "scheduler-p50-us")
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
	var losses, work []float64
	for b.Loop() {
		bare, bareWork := rate(turn, len(r.sessions), func(i int) int { r.raw(b, r.sessions[i], best); return best })
		whole, wholeWork := rate(turn, 8*len(r.sessions), func(int) int { r.post(b, r.url); return 1 })
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
// passes and for each of processor time.
func rate(length time.Duration, workers int, do func(worker int) (rows int)) (throughput, work float64) {
	var rows atomic.Int64
	var all sync.WaitGroup
	start, used := time.Now(), processor()
	for i := range workers {
		all.Go(func() {
			for time.Since(start) < length {
				rows.Add(int64(do(i)))
			}
		})
	}
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

package ort

import (
	"fmt"
	"math"
	"sync"
	"time"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// maxRows bounds a batch.
const maxRows = 4096

// Session is one model ready to run, with the memory of its largest batch. One
// goroutine at a time may fill rows and run; Close may come from any. On CUDA
// that goroutine should be locked to its thread.
type Session struct {
	model  string
	device int
	card   models.Card
	tensor *tensors

	mu     sync.Mutex                    // held during a run, so that nothing is destroyed under it
	inner  []*ort.DynamicAdvancedSession // one, or one for each size
	forget func(*Session)
}

func newSession(model *models.Model, maxBatch int, at placement, opts Options) (*Session, error) {
	name := model.Card.Name
	if maxBatch < 1 || maxBatch > maxRows {
		return nil, fmt.Errorf("model %s: largest batch is %d, it must be between 1 and %d", name, maxBatch, maxRows)
	}
	at.profile, at.half, at.tf32 = profileOf(model.Card, maxBatch), model.Precision == models.FP16, model.Precision == models.TF32
	s := &Session{model: name, device: at.device, card: model.Card, forget: func(*Session) {}}
	var err error
	if s.tensor, err = newTensors(model.Card, maxBatch, at.sizes(maxBatch)); err == nil {
		err = s.load(model, at, opts)
	}
	if err != nil {
		s.destroy()
		return nil, fmt.Errorf("model %s: %w", name, err)
	}
	if at.provider.gpu() {
		s.tensor.lock(at.device)
	}
	if err := s.warm(at.provider); err != nil {
		s.destroy()
		return nil, fmt.Errorf("warm-up: %w", err)
	}
	return s, nil
}

// load gives the graph to ONNX Runtime: once, or apart for each size.
func (s *Session) load(model *models.Model, at placement, opts Options) error {
	for i, b := range s.tensor.batches {
		if len(s.inner) == 0 || at.apart {
			own := opts
			if at.apart {
				own.GPUMemoryLimit = limitOf(opts.GPUMemoryLimit, s.Sizes(), i)
			}
			inner, err := open(model, at, own)
			if err != nil {
				return err
			}
			s.inner = append(s.inner, inner)
		}
		b.session = s.inner[len(s.inner)-1]
		if at.provider == CPU {
			if err := b.bind(model.Card); err != nil {
				return err
			}
		}
	}
	return nil
}

func open(model *models.Model, at placement, opts Options) (*ort.DynamicAdvancedSession, error) {
	so, err := sessionOptions(at, opts)
	if err != nil {
		return nil, err
	}
	defer so.Destroy() //nolint:errcheck // never fails
	if err := lookIn(so, model.Weights); err != nil {
		return nil, err
	}
	return ort.NewDynamicAdvancedSessionWithONNXData(model.ONNX, []string{model.Card.Input.Name}, []string{model.Card.Output.Name}, so)
}

// lookIn has ONNX Runtime look in a folder for the file of weights that a graph refers to, which it
// gets as bytes; where there is none it is empty. Every provider reads them alike, but TensorRT, whose
// parser gets the graph without its folder: what it declines CUDA runs.
func lookIn(so *ort.SessionOptions, weights string) error {
	if weights == "" {
		return nil
	}
	if err := so.AddSessionConfigEntry("session.model_external_initializers_file_folder_path", weights); err != nil {
		return fmt.Errorf("session options: %w", err)
	}
	return nil
}

// sessionOptions are the same for every model. Spinning threads would burn the
// cores that decoding needs. Memory patterns would keep a plan for each batch
// size: measured on the built-in models they cost a hundred MiB and gain no time.
func sessionOptions(at placement, opts Options) (*ort.SessionOptions, error) {
	so, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return so.SetIntraOpNumThreads(opts.IntraOpThreads) },
		func() error { return so.SetInterOpNumThreads(1) },
		func() error { return so.AddSessionConfigEntry("session.intra_op.allow_spinning", "0") },
		func() error { return so.AddSessionConfigEntry("session.inter_op.allow_spinning", "0") },
		func() error { return so.SetGraphOptimizationLevel(ort.GraphOptimizationLevelEnableAll) },
		func() error { return so.SetLogSeverityLevel(ort.LoggingLevelError) },
		func() error { return so.SetMemPattern(false) },
		func() error { return exactBytes(so) },
	}
	if at.provider.gpu() {
		steps = append(steps, func() error { return appendGPU(so, at, opts) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			so.Destroy() //nolint:errcheck,gosec // never fails
			return nil, fmt.Errorf("session options: %w", err)
		}
	}
	return so, nil
}

// warm runs sizes once, so that no request pays for memory and algorithm searches:
// on a GPU each of them, and on a CPU, which has nothing to search for and takes no more memory
// for the others, the largest. Rows hold the self-test's pattern, not zeros, which could
// take short cuts.
func (s *Session) warm(on Provider) error {
	for i := range s.MaxBatch() {
		s.card.Golden.Fill(s.Row(i))
	}
	sizes := s.Sizes()
	if on == CPU {
		sizes = sizes[len(sizes)-1:]
	}
	for _, size := range sizes {
		if _, err := s.Run(size); err != nil {
			return err
		}
	}
	return nil
}

// Time is how long a run of each of Sizes takes: the shortest of those within the
// budget, which are taken in turns, since what else runs on the machine only adds
// to it. Each size is run once at least. It is for before others use the session.
func (s *Session) Time(budget time.Duration) ([]time.Duration, error) {
	times := make([]time.Duration, len(s.Sizes()))
	for begin := time.Now(); ; {
		for i, size := range s.Sizes() {
			start := time.Now()
			if _, err := s.Run(size); err != nil {
				return nil, err
			}
			if took := time.Since(start); times[i] == 0 || took < times[i] {
				times[i] = took
			}
		}
		if time.Since(begin) >= budget {
			return times, nil
		}
	}
}

// Device is the id of the GPU that it runs on, 0 on a CPU.
func (s *Session) Device() int { return s.device }

// MaxBatch is the largest number of rows of a run.
func (s *Session) MaxBatch() int { return s.tensor.rows }

// Sizes are the warmed batch sizes in ascending order. Run goes up to the next
// of them.
func (s *Session) Sizes() []int { return s.tensor.sizes() }

// Row is the memory of row i of the next batch, to be written by the caller
// before Run. It is the same for all sizes and keeps its content after Run.
func (s *Session) Row(i int) models.Row { return s.tensor.row(i) }

// Run judges the first n rows and returns their outputs one after the other, as
// many numbers for each row as the card says. The slice is valid until the next
// Run. It allocates nothing on CPU. The error is ErrClosed after Close.
func (s *Session) Run(n int) ([]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner == nil {
		return nil, ErrClosed
	}
	if n < 1 || n > s.tensor.rows {
		return nil, fmt.Errorf("model %s: a run of %d rows, it must be between 1 and %d", s.model, n, s.tensor.rows)
	}
	if err := s.tensor.batch(n).run(); err != nil {
		return nil, fmt.Errorf("model %s: run of %d rows: %w", s.model, n, err)
	}
	return s.tensor.output[:n*s.tensor.outLen], nil
}

// Close waits for a run to end and frees the session. It is idempotent. Rows
// that were handed out stay readable.
func (s *Session) Close() error {
	s.mu.Lock()
	s.destroy()
	s.mu.Unlock()
	// Only now: until then the environment must wait for this session.
	s.forget(s)
	return nil
}

// destroy frees bindings and tensors before the sessions that they belong to.
func (s *Session) destroy() {
	if s.tensor != nil {
		s.tensor.destroy()
	}
	for _, inner := range s.inner {
		inner.Destroy() //nolint:errcheck,gosec // never fails
	}
	s.inner = nil
}

// Golden runs the card's self-test alone and as the last row of the largest
// batch, beside others that a graph which mixes rows would be told by; where each size
// has a session of its own, of a batch of each. It returns a *GoldenError when a number
// is off, or one of those behind it is none: the scheduler refuses such a row as a whole. It
// overwrites rows.
func Golden(s *Session, card models.Card) error {
	proven := []int{1, s.MaxBatch()}
	if len(s.inner) > 1 {
		proven = s.Sizes()
	}
	for _, n := range proven {
		for i := range n - 1 {
			glare(s.Row(i), i)
		}
		card.Golden.Fill(s.Row(n - 1))
		outputs, err := s.Run(n)
		if err != nil {
			return fmt.Errorf("self-test: %w", err)
		}
		if err := offGolden(card, n, outputs[len(outputs)-len(outputs)/n:]); err != nil {
			return err
		}
	}
	return nil
}

// offGolden says what is wrong with what a batch of n gave for the self-test's row.
func offGolden(card models.Card, n int, row []float32) error {
	off := &GoldenError{Model: card.Name, Batch: n, Got: float64(row[0]), Want: card.Golden.Output, Tolerance: card.Golden.Tolerance}
	// Written so that NaN fails.
	if !(math.Abs(off.Got-off.Want) <= off.Tolerance) {
		return off
	}
	for i, z := range row {
		if v := float64(z); math.IsNaN(v) || math.IsInf(v, 0) {
			off.Got, off.Index = v, i
			return off
		}
	}
	return nil
}

// glare fills a row with extremes, as unlike the self-test's pattern as can be: by
// turns both, only the upper and only the lower.
func glare(row models.Row, i int) {
	for j := range row.U8 {
		row.U8[j] = byte(255 * extreme(i, j)) //nolint:gosec // G115: 0 or 255
	}
	for j := range row.F32 {
		row.F32[j] = float32(2*extreme(i, j) - 1)
	}
}

// extreme is 0 or 1.
func extreme(i, j int) int {
	switch i % 3 {
	case 0:
		return j % 2
	case 1:
		return 1
	}
	return 0
}

//go:build gocv_specific_modules

package main

import (
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/internal/sandbox"
	"deepfaked/models"
	"deepfaked/preprocess"
	"deepfaked/preprocess/decode"
)

// bare is what the service is made of, without the service.
type bare struct {
	cards    []models.Card
	sessions map[string][]*ort.Session // with the settings of the service
}

func openBare(b *testing.B) *bare {
	b.Helper()
	cfg := config.Default()
	cfg.Provider = "cpu"
	cfg.Inference.Sessions, cfg.Inference.Threads = bothSides()
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = env.Close() })
	loaded, _, err := loadModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	chosen, err := inPrecision(env, loaded, cfg.Inference.Precision, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	out := &bare{sessions: map[string][]*ort.Session{}}
	for _, m := range toRun(chosen) {
		out.cards = append(out.cards, m.Card)
		if out.sessions[m.Card.Name], err = env.NewSessions(m, maxBatch); err != nil {
			b.Fatal(err)
		}
	}
	return out
}

// batch is one Run: the rows of one model, one after the other.
type batch struct {
	model string
	rows  int
	u8    [][]byte
	f32   [][]float32
}

// recorder is a model that keeps what it is given. It keeps executors apart, as
// the sessions that it stands for.
type recorder struct {
	session *ort.Session
	model   string
	into    *recording
}

type recording struct {
	mu      sync.Mutex
	batches []batch
}

func (r recorder) Sizes() []int         { return r.session.Sizes() }
func (r recorder) Row(i int) models.Row { return r.session.Row(i) }

func (r recorder) Run(n int) ([]float32, error) {
	one := batch{model: r.model, rows: n}
	for i := range n {
		row := r.Row(i)
		one.u8, one.f32 = append(one.u8, slices.Clone(row.U8)), append(one.f32, slices.Clone(row.F32))
	}
	r.into.mu.Lock()
	defer r.into.mu.Unlock()
	r.into.batches = append(r.into.batches, one)
	return r.session.Run(n)
}

// bareWork is what there is to do for one file.
type bareWork struct {
	*bare
	path    string
	format  preprocess.Format
	media   *preprocess.Media
	batches []batch
}

// prepare has the service's own detector and scheduler judge the file, with
// recorders in the place of models: they see the batches that models would.
func (r *bare) prepare(b *testing.B, path string, format preprocess.Format) *bareWork {
	b.Helper()
	w := &bareWork{bare: r, path: path, format: format}
	w.decode(b)
	seen := &recording{}
	var executors []inference.Executor
	for name, sessions := range r.sessions {
		for i, s := range sessions {
			if i == len(executors) {
				executors = append(executors, inference.Executor{})
			}
			executors[i][name] = recorder{s, name, seen}
		}
	}
	scheduler, err := inference.NewScheduler(inference.DefaultSchedulerOptions(), executors)
	if err != nil {
		b.Fatal(err)
	}
	defer scheduler.Close()
	parts := inference.Parts{Decoder: w, Scheduler: scheduler, Cards: r.cards}
	detector, err := inference.NewDetector(parts, inference.DefaultDetectorOptions())
	if err != nil {
		b.Fatal(err)
	}
	if _, err := detector.Detect(b.Context(), inference.Request{}); err != nil {
		b.Fatal(err)
	}
	w.batches = seen.batches
	return w
}

func (*bareWork) Inspect(io.ReaderAt, int64, preprocess.Kind) error { return nil }

// Decode hands out what decode has decoded.
func (w *bareWork) Decode(ctx context.Context, _ *os.File, _ int64, _ preprocess.Kind, tell preprocess.Listener) (*preprocess.Media, error) {
	media := preprocess.NewMedia(nil)
	media.Kind, media.Frames, media.Windows = w.media.Kind, w.media.Frames, w.media.Windows
	var told sync.WaitGroup
	defer told.Wait()
	for i := range media.Windows {
		told.Go(func() { tell(ctx, i, media.Windows[i:i+1]) })
	}
	return media, nil
}

// decode decodes the file here and takes the time of that alone. The memory for
// frames and samples comes fresh from the kernel, as a child's does.
func (w *bareWork) decode(b *testing.B) time.Duration {
	b.Helper()
	file, err := os.Open(w.path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	memory, err := sandbox.NewMemory("bare")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	arena := decode.NewArena(memory, 1<<30)
	defer func() { _ = arena.Close() }()
	src := decode.Source{File: file, Size: info.Size(), Format: w.format, Limits: preprocess.DefaultLimits()}
	start := time.Now()
	found, err := decode.File(src, arena)
	took := time.Since(start)
	if err != nil {
		b.Fatal(err)
	}
	if w.media == nil {
		w.media = &preprocess.Media{Kind: found.Kind}
		keep(b, w.media, arena, memory)
	}
	return took
}

// keep copies frames and windows out of the arena.
func keep(b *testing.B, m *preprocess.Media, arena *decode.Arena, memory io.ReaderAt) {
	b.Helper()
	read := func(offset int64, n int) []byte {
		raw := make([]byte, n)
		if _, err := memory.ReadAt(raw, offset); err != nil {
			b.Fatal(err)
		}
		return raw
	}
	for _, f := range arena.Frames() {
		m.Frames = append(m.Frames, preprocess.Frame{Pix: read(f.Offset, f.Width*f.Height*3), Width: f.Width, Height: f.Height, At: f.At})
	}
	for _, w := range arena.Windows() {
		samples := make([]int16, w.Samples)
		for i, raw := 0, read(w.Offset, preprocess.SampleBytes*w.Samples); i < len(samples); i++ {
			samples[i] = int16(binary.NativeEndian.Uint16(raw[2*i:]))
		}
		m.Windows = append(m.Windows, preprocess.Window{Samples: samples, At: w.At})
	}
}

// run runs the batches one after another. Filling the rows is not part of it.
func (w *bareWork) run(b *testing.B) time.Duration {
	b.Helper()
	var took time.Duration
	for _, one := range w.batches {
		session := w.sessions[one.model][0]
		for i := range one.rows {
			row := session.Row(i)
			copy(row.U8, one.u8[i])
			copy(row.F32, one.f32[i])
		}
		start := time.Now()
		if _, err := session.Run(one.rows); err != nil {
			b.Fatal(err)
		}
		took += time.Since(start)
	}
	return took
}

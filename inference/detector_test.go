package inference

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// decoderFunc is a fake: what a decoder returns. It tells of one window after the
// other.
type decoderFunc func(ctx context.Context) (*preprocess.Media, error)

// Inspect knows files by their first bytes alone.
func (decoderFunc) Inspect(f io.ReaderAt, _ int64, declared preprocess.Kind) error {
	head := make([]byte, preprocess.SniffBytes)
	n, _ := f.ReadAt(head, 0)
	format, ok := preprocess.Sniff(head[:n])
	switch {
	case !ok:
		return &preprocess.Error{Code: preprocess.UnsupportedMediaType}
	case declared != "" && format.Kind() != declared:
		return &preprocess.Error{Code: preprocess.ContentTypeMismatch}
	}
	return nil
}

func (f decoderFunc) Decode(ctx context.Context, _ *os.File, _ int64, _ preprocess.Kind, tell preprocess.Listener) (*preprocess.Media, error) {
	m, err := f(ctx)
	if err != nil {
		return nil, err
	}
	for i := range m.Windows {
		tell(ctx, i, m.Windows[i:i+1])
	}
	return m, nil
}

// meanRunner is a model whose logit is the mean of its row: bytes/100 or samples/unit.
type meanRunner []models.Row

func (m meanRunner) Sizes() []int         { return upTo(len(m)) }
func (m meanRunner) Row(i int) models.Row { return m[i] }

func (m meanRunner) Run(n int) ([]float32, error) {
	out := make([]float32, n)
	for i, r := range m[:n] {
		for _, b := range r.U8 {
			out[i] += float32(b) / 100 / float32(len(r.U8))
		}
		for _, v := range r.F32 {
			out[i] += v * fullScale / unit / float32(len(r.F32))
		}
	}
	return out, nil
}

// finder is a model that finds the same boxes in every row.
type finder struct {
	meanRunner

	boxes []float32
}

func (f finder) Run(n int) ([]float32, error) { return slices.Repeat(f.boxes, n), nil }

// hearer is a model that hears speech in four steps of a window, unless that is a tone: in one of them.
type hearer meanRunner

func (h hearer) Sizes() []int         { return meanRunner(h).Sizes() }
func (h hearer) Row(i int) models.Row { return h[i] }

func (h hearer) Run(n int) (out []float32, err error) {
	for _, r := range h[:n] {
		says := []float32{1, 1, 1, 1}
		if r.F32[0] == r.F32[1] {
			says = []float32{-1, -1, 1, -1}
		}
		out = append(out, says...)
	}
	return out, nil
}

// card is a model that needs no calibration; its thresholds are .9, .7 and .3.
func card(task models.Task) models.Card {
	c := models.Card{
		Name: string(task), Version: "1", Task: task,
		Calibration:   models.Calibration{Scale: 1},
		Preprocessing: models.Preprocessing{Tiles: 4, Margin: 1},
		Input:         models.Tensor{Type: "uint8", Shape: []int64{-1, 8, 8, 3}},
		OperatingPoints: map[string]models.OperatingPoint{
			"strict":    {FalsePositiveRate: .01, Threshold: .9},
			"balanced":  {FalsePositiveRate: .05, Threshold: .7},
			"sensitive": {FalsePositiveRate: .15, Threshold: .3},
		},
	}
	c.Calibration.Limits = &models.Pair{-100, 100}
	if task == models.FaceDetection {
		c.Detection = &models.Detection{Threshold: .5, Overlap: .4}
	}
	if task == models.VoiceActivity {
		c.Input = models.Tensor{Type: "float32", Shape: []int64{-1, 16}}
		c.Activity = &models.Activity{Threshold: .5, Steps: 2}
	}
	if task == models.FaceMotion {
		c.Input.Shape, c.Preprocessing.Frames = []int64{-1, 3, 8, 8, 3}, 3
	}
	if task == models.SpeechSynthesis {
		c.Input = models.Tensor{Type: "float32", Shape: []int64{-1, 16}}
	}
	return c
}

// needed are the tasks without which there is no detector.
func needed() []models.Task { return slices.DeleteFunc(models.Tasks(), models.Task.Optional) }

func newTestDetector(t *testing.T, media *preprocess.Media, boxes []float32) *Detector {
	t.Helper()
	return detectorOf(t, media, needed(), func(rows meanRunner) Runner { return finder{rows, boxes} })
}

// detectorOf has models of some tasks, of which find makes the one that finds faces; others may be changed.
func detectorOf(t *testing.T, media *preprocess.Media, tasks []models.Task, find func(meanRunner) Runner, change ...func(Executor)) *Detector {
	t.Helper()
	e, cards := Executor{}, []models.Card{}
	for _, task := range tasks {
		c := card(task)
		rows := make(meanRunner, 4)
		for i := range rows {
			if c.Input.Type == "uint8" {
				rows[i].U8 = make([]byte, c.Input.RowLen())
			} else {
				rows[i].F32 = make([]float32, c.Input.RowLen())
			}
		}
		e[c.Name], cards = rows, append(cards, c)
	}
	e[string(models.VoiceActivity)] = hearer(e[string(models.VoiceActivity)].(meanRunner))
	e[string(models.FaceDetection)] = find(e[string(models.FaceDetection)].(meanRunner))
	for _, apply := range change {
		apply(e)
	}
	s, err := NewScheduler(DefaultSchedulerOptions(), []Executor{e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	opts := DefaultDetectorOptions()
	opts.Faces.Smallest = 8
	d, err := NewDetector(Parts{
		Decoder:   decoderFunc(func(context.Context) (*preprocess.Media, error) { return media, nil }),
		Scheduler: s, Cards: cards, Provider: "test",
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// grey is a frame of one brightness but for a pixel, or it would be blank: its logit is level/100.
func grey(level byte, at time.Duration) preprocess.Frame {
	f := preprocess.Frame{Width: 32, Height: 16, Pix: make([]byte, 32*16*3), At: at}
	for i := range f.Pix {
		f.Pix[i] = level
	}
	f.Pix[0] = level ^ 4
	return f
}

// unit is the level of a sample of which a model of sound says 1.
const unit = 1000

// level is a window of one level, which is silence.
func level(v float64) preprocess.Window { return steady(int16(v * unit)) }

// steady is a window of samples of one level.
func steady(sample int16) preprocess.Window {
	return preprocess.Window{Samples: slices.Repeat([]int16{sample}, 16)}
}

// voice is a window about a level, which is what a model hears.
func voice(v float64) preprocess.Window {
	w := level(v)
	for i := range w.Samples {
		w.Samples[i] += int16(10 - 20*(i%2))
	}
	return w
}

// tone is a window that is not silent, of which no model hears that anybody speaks.
func tone(v float64) preprocess.Window {
	w := voice(v)
	w.Samples[1] = w.Samples[0]
	return w
}

func media(kind preprocess.Kind, frames []preprocess.Frame, windows []preprocess.Window) *preprocess.Media {
	m := preprocess.NewMedia(nil)
	m.Kind, m.Format, m.Frames, m.Windows = kind, "TEST", frames, windows
	m.Duration = time.Duration(len(windows)) * 4 * time.Second
	if len(frames) > 0 {
		m.Width, m.Height = frames[0].Width, frames[0].Height
	}
	return m
}

// What a finder says of a frame of grey, which it is shown reduced by four.
var (
	noFaces = []float32{-1, 1, 1, 3, 3, -2, 0, 0, 8, 8}
	oneFace = []float32{5, 1, 1, 3, 3, -2, 0, 0, 8, 8}
)

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		media    *preprocess.Media
		boxes    []float32
		level    Sensitivity
		verdict  Verdict
		logOdds  float64
		findings int
	}{
		{"picture without a face", media(preprocess.Image, []preprocess.Frame{grey(200, 0)}, nil), noFaces, Balanced, Fake, 2, 1},
		{"the same, strict", media(preprocess.Image, []preprocess.Frame{grey(200, 0)}, nil), noFaces, Strict, Real, 2, 1},
		{"sensitive is what omitted is not", media(preprocess.Image, []preprocess.Frame{grey(50, 0)}, nil), noFaces, "", Real, .5, 1},
		{"picture with a face: two tasks agree", media(preprocess.Image, []preprocess.Frame{grey(100, 0)}, nil), oneFace, Balanced, Fake, 1, 2},
		{"video: frames are averaged", media(preprocess.Video, []preprocess.Frame{grey(0, 0), grey(200, time.Second)}, nil), noFaces, Balanced, Fake, 1, 1},
		{
			"video with sound: either may be fake",
			media(preprocess.Video, []preprocess.Frame{grey(0, 0)}, []preprocess.Window{voice(4)}), noFaces, Balanced, Fake,
			math.Log((1 + math.Exp(4)) / 2), 2,
		},
		{"sound", media(preprocess.Audio, nil, []preprocess.Window{voice(-3), voice(1)}), noFaces, Balanced, Real, -1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{})
			lent := preprocess.NewMedia(func() { close(closed) })
			lent.Kind, lent.Format, lent.Frames, lent.Windows = c.media.Kind, c.media.Format, c.media.Frames, c.media.Windows
			d := newTestDetector(t, lent, c.boxes)
			got, err := d.Detect(t.Context(), Request{Sensitivity: c.level})
			if err != nil {
				t.Fatal(err)
			}
			p := sigmoid(c.logOdds)
			if math.Abs(got.Report.ProbabilityFake-p) > 1e-3 || got.Verdict != c.verdict {
				t.Errorf("got %s with P(fake) %.4f, want %s with %.4f", got.Verdict, got.Report.ProbabilityFake, c.verdict, p)
			}
			beyond := math.Abs(c.logOdds - logit(got.Report.Threshold))
			if math.Abs(got.Confidence-sigmoid(beyond)) > 1e-3 {
				t.Errorf("confidence %.4f, want %.4f, of a distance of %.4f from the line", got.Confidence, sigmoid(beyond), beyond)
			}
			if len(got.Report.Findings) != c.findings || len(got.Report.Models) != c.findings+finders(got.Report) {
				t.Errorf("%d findings by %d models, want %d", len(got.Report.Findings), len(got.Report.Models), c.findings)
			}
			<-closed // by the detector, after the answer
		})
	}
}

// What is told of a file, of a task and of its pieces goes no further than
// validation does, at the prior that the operator set, and moves no verdict.
func TestWhatIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		limits    models.Pair
		prior     float64
		told      float64 // log-odds
		threshold float64
	}{
		{"all", [2]float64{-9, 9}, .5, 2, logit(.7)},
		{"limited", [2]float64{-1, 1.5}, .5, 1.5, logit(.7)},
		{"threshold limited too", [2]float64{-1, .5}, .5, .5, .5},
		{"few fakes", [2]float64{-9, 9}, .1, 2 - math.Log(9), logit(.7) - math.Log(9)},
		{"limited, then few fakes", [2]float64{-1, 1.5}, .1, 1.5 - math.Log(9), logit(.7) - math.Log(9)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{grey(200, 0)}, nil), noFaces)
			d.judges[models.ImageSynthesis][0].Calibration.Limits = &c.limits
			d.opts.Prior = c.prior
			got, err := d.Detect(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			task := got.Report.Findings[0]
			for of, p := range map[string]float64{
				"file": got.Report.ProbabilityFake,
				"task": task.ProbabilityFake, "frame": task.Pieces[0].ProbabilityFake,
			} {
				if math.Abs(logit(p)-c.told) > 1e-3 {
					t.Errorf("%s: log-odds of %.4f, want %.4f", of, logit(p), c.told)
				}
			}
			for of, p := range map[string]float64{"file": got.Report.Threshold, "task": task.Threshold} {
				if math.Abs(logit(p)-c.threshold) > 1e-3 {
					t.Errorf("threshold of the %s: log-odds of %.4f, want %.4f", of, logit(p), c.threshold)
				}
			}
			if math.Abs(got.Report.LogOdds-2) > 1e-3 || math.Abs(task.LogOdds-2) > 1e-3 {
				t.Errorf("log-odds of %.4f and %.4f, want what was found", got.Report.LogOdds, task.LogOdds)
			}
			if got.Verdict != Fake || got.Report.Prior != c.prior {
				t.Errorf("%s at a prior of %g", got.Verdict, got.Report.Prior)
			}
		})
	}
}

// The memory of a file is given back after the answer, and its place only with
// it: otherwise more would be in memory than the gate allows.
func TestPlaceIsTakenUntilTheMemoryIsBack(t *testing.T) {
	t.Parallel()
	slow := make(chan struct{})
	lent := preprocess.NewMedia(func() { <-slow })
	lent.Kind, lent.Frames = preprocess.Image, []preprocess.Frame{grey(200, 0)}
	d := newTestDetector(t, lent, noFaces)
	if _, err := d.Detect(t.Context(), Request{}); err != nil {
		t.Fatal(err)
	}
	others := d.opts.Parallel - 1
	for range others {
		if _, err := d.gate.enter(t.Context(), Request{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.gate.enter(ctx, Request{}); err == nil {
		t.Error("its place is free while its memory is not")
	}
	close(slow)
	if _, err := d.gate.enter(t.Context(), Request{}); err != nil {
		t.Errorf("its place is not free in the end: %v", err)
	}
}

// A film alone on a service that is too slow for it was told to come back in two seconds,
// again and again: its own rows were what there was too much of.
func TestTooMuchOfAFileAloneIsNoWorkOfOthers(t *testing.T) {
	t.Parallel()
	d := newTestDetector(t, nil, noFaces)
	d.parts.Decoder = decoderFunc(func(context.Context) (*preprocess.Media, error) { return nil, &SaturatedError{} })
	if _, err := d.Detect(t.Context(), Request{}); !errors.Is(err, ErrTooLong) {
		t.Errorf("alone: %v, want ErrTooLong", err)
	}
	leave, err := d.gate.enter(t.Context(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer leave(false)
	var saturated *SaturatedError
	if _, err := d.Detect(t.Context(), Request{}); !errors.As(err, &saturated) {
		t.Errorf("beside another: %v, want a SaturatedError", err)
	}
}

// The goroutines of a request have no handler above them that recovers: a panic
// on one strange picture ended the service for everybody.
func TestPanicCostsItsOwnRequest(t *testing.T) {
	t.Parallel()
	strange := preprocess.Frame{Width: 32, Height: 16, Pix: make([]byte, 5)}
	d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{strange}, nil), noFaces)
	if _, err := d.Detect(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), "out of range") {
		t.Errorf("got %v, want the panic as an error", err)
	}
}

func TestNewDetectorNamesTheMissingTask(t *testing.T) {
	t.Parallel()
	for _, missing := range needed() {
		var cards []models.Card
		for _, task := range needed() {
			if task != missing {
				cards = append(cards, card(task))
			}
		}
		_, err := NewDetector(Parts{Cards: cards}, DefaultDetectorOptions())
		if err == nil || !strings.Contains(err.Error(), string(missing)) {
			t.Errorf("without %s: got %v", missing, err)
		}
	}
}

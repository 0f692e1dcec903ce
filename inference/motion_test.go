package inference

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// seeker is a model that finds faces by the brightness of its row's first byte: none in
// what is darker than 10, one from there, and a second one beside it from 200; both stand
// as many pixels of the view further right as the hundreds of it.
type seeker struct {
	meanRunner

	mu   *sync.Mutex
	runs *[]int // rows of each
}

func (s seeker) Run(n int) ([]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.runs = append(*s.runs, n)
	var out []float32
	for _, r := range s.meanRunner[:n] {
		level, first, second := float32(r.U8[0]), float32(-5), float32(-5)
		if level >= 10 {
			first = 5
		}
		if level >= 200 {
			second = 4
		}
		x := float32(int(level) % 200 / 100)
		out = append(out, first, x, 0, x+3, 3, second, x+4, 0, x+7, 3)
	}
	return out, nil
}

// moving is a stretch of frames of these levels, a second apart.
func moving(at time.Duration, levels ...byte) preprocess.Stretch {
	var s preprocess.Stretch
	for i, l := range levels {
		s.Frames = append(s.Frames, grey(l, at+time.Duration(i)*time.Second))
	}
	return s
}

// newMotionDetector has a model of every task; runs are the finder's.
func newMotionDetector(t *testing.T, tasks []models.Task, stretches ...preprocess.Stretch) (d *Detector, runs *[]int) {
	t.Helper()
	film := media(preprocess.Video, []preprocess.Frame{grey(0, 0)}, nil)
	film.Stretches = stretches
	runs = new([]int)
	return detectorOf(t, film, tasks, func(rows meanRunner) Runner { return seeker{rows, new(sync.Mutex), runs} }), runs
}

// motionOf is what the task found, nil for nothing.
func motionOf(r Report) *Finding {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Task == string(models.FaceMotion) })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

func TestMotion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stretches []preprocess.Stretch
		logOdds   float64
		pieces    int
	}{
		"none":                     {nil, 0, 0},
		"a row is of all frames":   {[]preprocess.Stretch{moving(0, 10, 20, 60)}, .3, 1},
		"stretches are averaged":   {[]preprocess.Stretch{moving(0, 10, 10, 10), moving(time.Minute, 90, 90, 90)}, .5, 2},
		"of faces either":          {[]preprocess.Stretch{moving(0, 200, 200, 200)}, 2, 2},
		"a face that comes":        {[]preprocess.Stretch{moving(0, 0, 10, 10)}, 0, 0},
		"a face that goes":         {[]preprocess.Stretch{moving(0, 10, 10, 0)}, 0, 0},
		"a second face that comes": {[]preprocess.Stretch{moving(0, 10, 200, 240)}, 1.5, 1},
		"beside one without":       {[]preprocess.Stretch{moving(0, 0, 0, 0), moving(time.Minute, 90, 90, 90)}, .9, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, runs := newMotionDetector(t, models.Tasks(), c.stretches...)
			got, err := d.Detect(t.Context(), Request{})
			if err != nil {
				t.Fatal(err)
			}
			f := motionOf(got.Report)
			switch {
			case f == nil && c.pieces > 0 || f != nil && len(f.Pieces) != c.pieces:
				t.Fatalf("found %+v, want %d pieces", f, c.pieces)
			case f != nil && (math.Abs(f.LogOdds-c.logOdds) > 1e-3 || math.Abs(logit(f.Threshold)-logit(.7)) > 1e-3):
				t.Errorf("found %+v, want log-odds of %g", f, c.logOdds)
			}
			if used, want := len(got.Report.Models), len(got.Report.Findings)+finders(got.Report); used != want {
				t.Errorf("%d models for %d findings, want %d", used, len(got.Report.Findings), want)
			}
			rows := -1 // that of the single frame
			for _, n := range *runs {
				rows += n
			}
			if rows != 3*len(c.stretches) {
				t.Errorf("the finder ran on %v rows", *runs)
			}
		})
	}
}

// TestMotionIsOneWayMore of being fake, beside what the fusion makes of pictures and
// faces.
func TestMotionIsOneWayMore(t *testing.T) {
	t.Parallel()
	d, _ := newMotionDetector(t, models.Tasks(), moving(0, 150, 150, 150))
	d.fusion = usableFusion(fusion("1"), d.parts.Cards)
	got, err := d.Detect(t.Context(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	if used := got.Report.Fusion; used == nil || len(used.Tasks) != 1 {
		t.Fatalf("the fusion is %+v", used)
	}
	want := anyOf([]float64{.25, 1.5}) // of a picture that says nothing, and of motion
	if math.Abs(got.Report.LogOdds-want) > 1e-3 {
		t.Errorf("log-odds of %g, want %g", got.Report.LogOdds, want)
	}
}

// TestPiecesOfMotion are told of by the first frame's time, and by the face in the
// middle one as it is in the original.
func TestPiecesOfMotion(t *testing.T) {
	t.Parallel()
	d, _ := newMotionDetector(t, models.Tasks(), moving(time.Minute, 10, 110, 10))
	got, err := d.Detect(t.Context(), Request{})
	if err != nil || motionOf(got.Report) == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	p := motionOf(got.Report).Pieces[0]
	if p.AtSeconds != 60 || !slices.Equal(p.Box, []int{4, 0, 12, 12}) {
		t.Errorf("the piece is at %g seconds, in %v", p.AtSeconds, p.Box)
	}
}

// A photograph of 4000 pixels is judged in 1280, and the report gave the boxes of its faces in
// these, beside a width of 4000: drawn on the photograph they were beside the faces.
func TestBoxesAreInPixelsOfTheOriginal(t *testing.T) {
	t.Parallel()
	original := media(preprocess.Video, []preprocess.Frame{grey(10, 0)}, nil)
	original.Width, original.Height = 96, 32
	original.Stretches = []preprocess.Stretch{moving(0, 10, 110, 10)}
	d := detectorOf(t, original, models.Tasks(), func(rows meanRunner) Runner { return seeker{rows, new(sync.Mutex), new([]int)} })
	got, err := d.Detect(t.Context(), Request{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got.Report.Findings {
		want := map[string][]int{
			string(models.FaceManipulation): {0, 0, 36, 24}, string(models.FaceMotion): {12, 0, 36, 24},
		}[f.Task]
		if !slices.Equal(f.Pieces[0].Box, want) {
			t.Errorf("%s: %v, want %v", f.Task, f.Pieces[0].Box, want)
		}
	}
	if len(got.Report.Findings) != 3 {
		t.Errorf("%d findings", len(got.Report.Findings))
	}
}

// TestMotionWithoutAModel: nothing is made of stretches that no model judges.
func TestMotionWithoutAModel(t *testing.T) {
	t.Parallel()
	d, runs := newMotionDetector(t, needed(), moving(0, 200, 200, 200))
	got, err := d.Detect(t.Context(), Request{})
	if err != nil || motionOf(got.Report) != nil || len(*runs) != 1 {
		t.Errorf("%+v, %v, the finder ran on %v rows", got.Report.Findings, err, *runs)
	}
}

func TestStretchesOfOtherLengthsAreRefused(t *testing.T) {
	t.Parallel()
	d, _ := newMotionDetector(t, models.Tasks(), moving(0, 10, 10, 10, 10))
	if _, err := d.Detect(t.Context(), Request{}); err == nil || !strings.Contains(err.Error(), "4 frames") {
		t.Errorf("got %v", err)
	}
	var cards []models.Card
	for _, task := range models.Tasks() {
		cards = append(cards, card(task))
	}
	other := card(models.FaceMotion)
	other.Name, other.Preprocessing.Frames = "longer", 9
	_, err := NewDetector(Parts{Cards: append(cards, other)}, DefaultDetectorOptions())
	if err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("models that disagree: %v", err)
	}
}

// TestFacesOfOneExtentShareARun: what a row says may depend on how much those beside it
// fill.
func TestFacesOfOneExtentShareARun(t *testing.T) {
	t.Parallel()
	d, runs := newMotionDetector(t, models.Tasks())
	d.finder.Input.Shape = []int64{-1, 256, 256, 3}
	d.opts.Faces.Smallest = 1
	wide := preprocess.Frame{Width: 250, Height: 8, Pix: make([]byte, 250*8*3)}
	for i := range wide.Pix {
		wide.Pix[i] = 50
	}
	rows := make(meanRunner, 4)
	for i := range rows {
		rows[i].U8 = make([]byte, 256*256*3)
	}
	s, err := NewScheduler(DefaultSchedulerOptions(), []Executor{{d.finder.Name: seeker{rows, new(sync.Mutex), runs}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	d.parts.Scheduler = s
	found, err := d.faces(t.Context(), Request{}, []preprocess.Frame{grey(0, 0), wide, grey(200, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(*runs); !slices.Equal(*runs, []int{1, 2}) {
		t.Errorf("runs of %v rows", *runs)
	}
	for i, want := range []int{0, 1, 2} {
		if len(found[i]) != want {
			t.Errorf("frame %d has %d faces", i, len(found[i]))
		}
	}
}

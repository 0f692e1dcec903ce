package inference

import (
	"fmt"
	"math"
	"testing"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestSmallPicturesAreCalibratedByTheirSize: one calibration had served all sizes, by which 35 % of
// genuine pictures of 128 pixels were called fake where 5 % were meant. Faces have none.
func TestSmallPicturesAreCalibratedByTheirSize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media *preprocess.Media
		want  []float64 // log-odds of the picture as a whole, and of the face
	}{
		"picture": {media(preprocess.Image, []preprocess.Frame{grey(200, 0)}, nil), []float64{0.5*2 - 0.75, 2}},
		"film":    {media(preprocess.Video, []preprocess.Frame{grey(0, 0), grey(200, time.Second)}, nil), []float64{0.5*1 - 0.75, 1}},
	} {
		d := newTestDetector(t, c.media, oneFace)
		for _, task := range []models.Task{models.ImageSynthesis, models.FaceManipulation} {
			own := &d.judges[task][0].Calibration
			own.Sizes = []models.Sized{{Side: 16, Scale: own.Scale / 2, Bias: own.Bias - 0.75}, {Side: 64, Scale: own.Scale, Bias: own.Bias}}
		}
		got, err := d.Detect(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range got.Report.Findings {
			if math.Abs(f.LogOdds-c.want[i]) > 1e-3 {
				t.Errorf("%s, %s: log-odds %.4f, want %.4f", name, f.Task, f.LogOdds, c.want[i])
			}
		}
	}
}

// counting notes the rows of each run of a model that finds no face.
type counting struct {
	meanRunner
	runs *[]int
}

func (c counting) Run(n int) ([]float32, error) {
	*c.runs = append(*c.runs, n)
	return make([]float32, n*len(noFaces)), nil
}

// TestFixedShapes: where a new shape is dear, frames of any extent are looked at together.
func TestFixedShapes(t *testing.T) {
	t.Parallel()
	c := card(models.FaceDetection)
	c.Input.Shape = []int64{-1, 256, 256, 3}
	for fixed, want := range map[bool]string{true: "[2]", false: "[1 1]"} {
		rows, runs := make(meanRunner, 4), []int(nil)
		for i := range rows {
			rows[i].U8 = make([]byte, c.Input.RowLen())
		}
		s, err := NewScheduler(DefaultSchedulerOptions(), []Executor{{c.Name: counting{rows, &runs}}})
		if err != nil {
			t.Fatal(err)
		}
		d := &Detector{parts: Parts{Scheduler: s, FixedShapes: fixed}, finder: c, opts: DefaultDetectorOptions()}
		frames := []preprocess.Frame{{Width: 200, Height: 100, Pix: make([]byte, 200*100*3)}, {Width: 100, Height: 200, Pix: make([]byte, 100*200*3)}}
		_, err = d.faces(t.Context(), Request{}, frames)
		s.Close()
		if err != nil || fmt.Sprint(runs) != want {
			t.Errorf("fixed %t: runs of %v rows, %v; want %s", fixed, runs, err, want)
		}
		if marked := rows[0].U8[(128*256+255)*3] != 128; marked != fixed {
			t.Errorf("fixed %t: marked %t", fixed, marked)
		}
	}
}

package inference

import (
	"testing"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestErrorRatesAreSentences: the rates of a line stood in the cards alone, where no reader of a report looks.
func TestErrorRatesAreSentences(t *testing.T) {
	t.Parallel()
	found := .701
	full := models.OperatingPoint{FalsePositiveRate: .05, FalsePositiveInterval: &models.Pair{.032, .0704}, DetectionRate: &found, DetectionInterval: &models.Pair{.632, .761}}
	for name, c := range map[string]struct {
		point   models.OperatingPoint
		kind    preprocess.Kind
		task    models.Task
		several bool
		want    string
	}{
		"a picture": {full, preprocess.Image, models.ImageSynthesis, false,
			"Of 100 genuine pictures about 5 are called fake at this line (measured 3.2 to 7), and of 100 fake ones about 70 are found (63 to 76)."},
		"a sound": {models.OperatingPoint{FalsePositiveRate: .01}, preprocess.Audio, models.SpeechSynthesis, false,
			"Of 100 genuine recordings of speech about 1 are called fake at this line."},
		"the pictures of a video": {full, preprocess.Video, models.ImageSynthesis, true,
			"Of 100 genuine videos about 5 are called fake at this line by the pictures alone (measured 3.2 to 7), and of 100 fake ones about 70 are found (63 to 76)."},
		"its sound, of a model that promises nothing": {models.OperatingPoint{}, preprocess.Video, models.SpeechSynthesis, true,
			"How many genuine recordings of speech are called fake at this line by the sound alone was not measured."},
	} {
		if got := newErrorRate(c.point, string(c.task)).sentence(c.kind, c.several); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// TestReportHasErrorRatesAndLines: what decides has its rates, and all three lines are told.
func TestReportHasErrorRatesAndLines(t *testing.T) {
	t.Parallel()
	film := media(preprocess.Video, []preprocess.Frame{grey(1, 0)}, []preprocess.Window{voice(2)}) // of 16 samples
	got, err := newTestDetector(t, film, noFaces).Detect(t.Context(), Request{Sensitivity: Strict})
	if err != nil {
		t.Fatal(err)
	}
	r := got.Report
	if len(r.ErrorRates) != len(r.Findings) || len(r.ErrorRates) == 0 {
		t.Errorf("%d rates of %d findings", len(r.ErrorRates), len(r.Findings))
	}
	if len(r.Thresholds) != 3 || r.Thresholds[Strict] != r.Threshold || r.Thresholds[Strict] < r.Thresholds[Sensitive] {
		t.Errorf("lines %v, the one %v", r.Thresholds, r.Threshold)
	}
	for _, f := range r.Findings {
		sound := f.Task == string(models.SpeechSynthesis)
		if p := f.Pieces[0]; sound != (p.DurationSeconds > 0) || sound == (len(p.Tiles) > 0) {
			t.Errorf("%s: a piece of %v s with %d tiles", f.Task, p.DurationSeconds, len(p.Tiles))
		}
	}
}

// TestTilesLieInThePicture: each is within the original, whose size the report tells, and the overview is of its middle.
func TestTilesLieInThePicture(t *testing.T) {
	t.Parallel()
	f := preprocess.Frame{Pix: make([]byte, 600*400*3), Width: 600, Height: 400}
	m := &preprocess.Media{Kind: preprocess.Image, Width: 1200, Height: 800, Frames: []preprocess.Frame{f}}
	card := models.Card{Task: models.ImageSynthesis, Input: models.Tensor{Shape: []int64{0, 100, 100, 3}}, Preprocessing: models.Preprocessing{Tiles: 4, Overview: true}}
	w := (&Detector{}).work(m, card, []piece{{}})
	tiles := w.judgedTiles([]float32{1, 0, 0, 0, -1}, models.Calibration{Scale: 2, Bias: 1})
	if len(tiles) != 5 || tiles[0].logOdds != 3 || tiles[4].logOdds != -1 {
		t.Fatalf("tiles %v", tiles)
	}
	want := [][]int{{200, 0, 800, 800}, {0, 0, 200, 200}, {1000, 0, 200, 200}, {0, 600, 200, 200}, {1000, 600, 200, 200}}
	for i, tile := range tiles {
		for k, v := range corners(tile.box) {
			if v != want[i][k] {
				t.Errorf("tile %d lies at %v, want %v", i, tile.box, want[i])
				break
			}
		}
	}
}

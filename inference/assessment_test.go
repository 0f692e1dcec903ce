package inference

import (
	"testing"

	"deepfaked/preprocess"
)

// TestAssessment: a real just short of the line read like one far from it, so that people took
// what is as likely fake as genuine for an all-clear.
func TestAssessment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level       byte // its log-odds are a hundredth
		sensitivity Sensitivity
		prior       float64
		want        Assessment
	}{
		"beyond the line":            {200, Balanced, .5, LikelyFake},
		"short of a stricter line":   {200, Strict, .5, Unclear},
		"between one half and line":  {50, Balanced, .5, Unclear},
		"beyond a line below half":   {50, Sensitive, .5, LikelyFake},
		"whatever the prior":         {50, Balanced, .01, Unclear},
		"beyond it with a low prior": {200, Balanced, .01, LikelyFake},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestDetector(t, media(preprocess.Image, []preprocess.Frame{grey(c.level, 0)}, nil), noFaces)
			d.opts.Prior = c.prior
			got, err := d.Detect(t.Context(), Request{Sensitivity: c.sensitivity})
			if err != nil || got.Report.Assessment != c.want {
				t.Errorf("%s, %v, want %s", got.Report.Assessment, err, c.want)
			}
		})
	}
}

// TestNoSignOfFake: below one half a real is no sign of a fake, and never called authentic.
func TestNoSignOfFake(t *testing.T) {
	t.Parallel()
	d := newTestDetector(t, media(preprocess.Audio, nil, []preprocess.Window{voice(-1)}), noFaces)
	got, err := d.Detect(t.Context(), Request{})
	if err != nil || got.Report.Assessment != NoSignOfFake {
		t.Errorf("%s, %v", got.Report.Assessment, err)
	}
}

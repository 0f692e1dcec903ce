package inference

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// finders is how many models find the faces and the speech of a report.
func finders(r Report) (n int) {
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Task == string(models.SpeechSynthesis) }) {
		n++
	}
	if slices.ContainsFunc(r.Findings, func(f Finding) bool { return strings.HasPrefix(f.Task, "face-") }) {
		n++
	}
	return n
}

// TestReportNamesWhoFoundTheFaces: faces were judged that a model had found which no report named, so
// that an operator whose own one found them could not tell from a report.
func TestReportNamesWhoFoundTheFaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		boxes []float32
		want  []string
	}{
		"a face":  {oneFace, []string{string(models.ImageSynthesis), string(models.FaceManipulation), string(models.FaceDetection)}},
		"no face": {noFaces, []string{string(models.ImageSynthesis)}},
	} {
		d := newTestDetector(t, media(preprocess.Video, []preprocess.Frame{grey(1, 0), grey(1, time.Second)}, nil), c.boxes)
		got, err := d.Detect(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		var used []string
		for _, m := range got.Report.Models {
			used = append(used, m.Name)
			if m.Name == string(models.FaceDetection) && (m.Threshold != .5 || m.Version != "1" || m.FalsePositiveRate != 0) {
				t.Errorf("%s: %+v", name, m)
			}
		}
		if !slices.Equal(used, c.want) {
			t.Errorf("%s: %q, want %q", name, used, c.want)
		}
	}
}

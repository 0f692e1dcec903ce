package inference

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestReasons: a report gave a number for a picture of 16 pixels or half a second of sound as for any
// other, and nobody learned that it hardly tells anything.
func TestReasons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind     preprocess.Kind
		boxes    []float32
		side     int
		duration time.Duration
		notes    []preprocess.Note
		want     []ReasonCode
	}{
		"a picture":             {preprocess.Image, noFaces, 64, 0, nil, []ReasonCode{NoFace}},
		"a small one":           {preprocess.Image, noFaces, 63, 0, nil, []ReasonCode{TooSmall, NoFace}},
		"a portrait":            {preprocess.Image, oneFace, 64, 0, nil, nil},
		"one of several":        {preprocess.Image, oneFace, 64, 0, []preprocess.Note{preprocess.OtherPictures}, []ReasonCode{PartlyUnseen}},
		"a sound":               {preprocess.Audio, noFaces, 0, time.Second, nil, nil},
		"a short one":           {preprocess.Audio, noFaces, 0, time.Second - 1, nil, []ReasonCode{TooShort}},
		"a film that is silent": {preprocess.Video, oneFace, 64, time.Second / 2, []preprocess.Note{preprocess.SoundTooShort}, []ReasonCode{PartlyUnseen}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := media(c.kind, []preprocess.Frame{grey(50, 0)}, nil)
			if c.kind == preprocess.Audio {
				m = media(c.kind, nil, []preprocess.Window{voice(-1)})
			}
			m.Width, m.Height, m.Duration, m.Notes = c.side, 100, c.duration, c.notes
			got, err := newTestDetector(t, m, c.boxes).Detect(t.Context(), Request{})
			require.NoError(t, err)
			for _, r := range got.Report.Reasons {
				assert.NotEmpty(t, r.Text)
				assert.Equal(t, r.Code.Text(), r.Text)
			}
			assert.Equal(t, c.want, reasonCodes(got.Report))
		})
	}
}

// TestThinEvidenceIsUnclear: that nothing was found in what hardly tells anything was called no sign of a
// fake. What was found is called what it is.
func TestThinEvidenceIsUnclear(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		logOdds  float64
		duration time.Duration
		want     Assessment
	}{
		"short, genuine": {-1, time.Second / 2, Unclear}, "short, fake": {3, time.Second / 2, LikelyFake},
		"long, genuine": {-1, time.Second, NoSignOfFake},
	} {
		m := media(preprocess.Audio, nil, []preprocess.Window{voice(c.logOdds)})
		m.Duration = c.duration
		got, err := newTestDetector(t, m, noFaces).Detect(t.Context(), Request{})
		require.NoError(t, err)
		assert.Equal(t, c.want, got.Report.Assessment, name)
	}
}

// comparer is a model that says of every row how like its training media it is.
type comparer struct {
	meanRunner

	likeness float32
}

func (c comparer) Run(n int) (out []float32, err error) {
	logits, err := c.meanRunner.Run(n)
	for _, z := range logits {
		out = append(out, z, c.likeness)
	}
	return out, err
}

// TestUnlikeTrainingMedia: a bar chart was called fake .79, as if the model had learned what charts are.
func TestUnlikeTrainingMedia(t *testing.T) {
	t.Parallel()
	for likeness, unlike := range map[float32]bool{.25: true, .75: false} {
		m := media(preprocess.Image, []preprocess.Frame{grey(0, 0)}, nil)
		m.Width, m.Height = 100, 100
		image := string(models.ImageSynthesis)
		find := func(rows meanRunner) Runner { return finder{rows, noFaces} }
		d := detectorOf(t, m, needed(), find, func(e Executor) { e[image] = comparer{e[image].(meanRunner), likeness} })
		got, err := d.Detect(t.Context(), Request{})
		require.NoError(t, err)
		assert.Equal(t, unlike, slices.Contains(reasonCodes(got.Report), Unlike))
		assert.InDelta(t, likeness, *got.Report.Findings[0].Likeness, 1e-9)
	}
	assert.Equal(t, Unclear, assess(Real, -1, []Reason{{Code: Unlike}}), "that it has no sign of a fake would be too much to say")
}

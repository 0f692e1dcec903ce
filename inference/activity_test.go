package inference

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestOnlySpeechIsJudged: tones, noise and music were given a verdict by a model that had heard nothing but
// speech, and pauses between sentences had a vote.
func TestOnlySpeechIsJudged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind    preprocess.Kind
		windows []preprocess.Window
		logOdds float64
		heard   int // windows
		want    Assessment
		why     []ReasonCode
	}{
		"a tone":             {preprocess.Audio, []preprocess.Window{tone(2), tone(3)}, 0, 0, NotApplicable, []ReasonCode{NoSpeech}},
		"a tone and silence": {preprocess.Audio, []preprocess.Window{tone(2), level(0)}, 0, 0, NotApplicable, []ReasonCode{NoSpeech}},
		"a voice and a tone": {preprocess.Audio, []preprocess.Window{tone(9), voice(-2)}, -2, 1, NoSignOfFake, nil},
		"a film with a tone": {preprocess.Video, []preprocess.Window{tone(9)}, 2, 0, LikelyFake, []ReasonCode{NoSpeech, TooSmall, NoFace}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var frames []preprocess.Frame
			if c.kind == preprocess.Video {
				frames = append(frames, grey(200, 0))
			}
			got, err := newTestDetector(t, media(c.kind, frames, c.windows), noFaces).Detect(t.Context(), Request{})
			require.NoError(t, err)
			assert.InDelta(t, c.logOdds, got.Report.LogOdds, 1e-3)
			assert.Len(t, heardOf(got.Report), c.heard)
			assert.Equal(t, c.want, got.Report.Assessment)
			assert.Equal(t, c.why, reasonCodes(got.Report))
			last := got.Report.Models[len(got.Report.Models)-1]
			assert.Equal(t, string(models.VoiceActivity), last.Name, "the report names who heard whether anybody speaks")
		})
	}
}

// TestLittleSpeechIsThin: a word in a minute of noise is no more evidence than a word alone.
func TestLittleSpeechIsThin(t *testing.T) {
	t.Parallel()
	m := media(preprocess.Audio, nil, []preprocess.Window{tone(0), voice(-2), tone(0), tone(0)})
	m.Duration = 2 * time.Second // of which a quarter is in the window that is spoken, and a sixteenth in each of the others
	got, err := newTestDetector(t, m, noFaces).Detect(t.Context(), Request{})
	require.NoError(t, err)
	assert.Equal(t, []ReasonCode{TooShort}, reasonCodes(got.Report))
	assert.Equal(t, Unclear, got.Report.Assessment)
}

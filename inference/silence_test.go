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

// TestSilenceHasNoVote: a muted track beside a fake film, or zeros behind a synthetic voice, turned the
// verdict to real, and so did silence in A-law, which has no zero. Silence says nothing of who speaks, and a
// model may say of it what it likes.
func TestSilenceHasNoVote(t *testing.T) {
	t.Parallel()
	rounding := steady(noiseless)
	rounding.Samples[3] = -noiseless
	aLaw := steady(8 * noiseless)
	aLaw.Samples[3] = 9 * noiseless
	resampled := steady(22_938)
	resampled.Samples[3] += 8 * noiseless
	faint := steady(0)
	faint.Samples[0], faint.Samples[3] = noiseless, 3*noiseless
	last := voice(2)
	last.At = 8 * time.Second
	for name, c := range map[string]struct {
		kind    preprocess.Kind
		windows []preprocess.Window
		notes   []preprocess.Note // of the decoder
		logOdds float64
		heard   int // windows
		want    []preprocess.Note
	}{
		"a mute film":           {preprocess.Video, []preprocess.Window{level(0), rounding}, nil, 2, 0, []preprocess.Note{preprocess.SoundSilent}},
		"of several tracks":     {preprocess.Video, []preprocess.Window{level(0)}, []preprocess.Note{preprocess.OtherSound, preprocess.Incomplete}, 2, 0, []preprocess.Note{preprocess.SoundSilent, preprocess.OtherSound, preprocess.Incomplete}},
		"a film mute at first":  {preprocess.Video, []preprocess.Window{level(0), last}, []preprocess.Note{preprocess.OtherSound}, 2, 1, []preprocess.Note{preprocess.OtherSound}},
		"a film without sound":  {preprocess.Video, nil, nil, 2, 0, nil},
		"a voice, then silence": {preprocess.Audio, []preprocess.Window{voice(2), level(0), rounding}, nil, 2, 1, nil},
		"hardly to be heard":    {preprocess.Audio, []preprocess.Window{faint}, nil, 0, 1, nil},
		"silence in A-law":      {preprocess.Video, []preprocess.Window{aLaw}, nil, 2, 0, []preprocess.Note{preprocess.SoundSilent}},
		"a voice, then a level": {preprocess.Audio, []preprocess.Window{voice(2), level(.5), resampled}, nil, 2, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var frames []preprocess.Frame
			if c.kind == preprocess.Video {
				frames = append(frames, grey(200, 0))
			}
			m := media(c.kind, frames, c.windows)
			m.Notes = c.notes
			got, err := newTestDetector(t, m, noFaces).Detect(t.Context(), Request{})
			require.NoError(t, err)
			assert.InDelta(t, c.logOdds, got.Report.LogOdds, 1e-3)
			assert.Equal(t, c.want, codes(got.Report.Notes))
			assert.Len(t, heardOf(got.Report), c.heard)
			if name == "a film mute at first" {
				assert.InDelta(t, 8, heardOf(got.Report)[0].AtSeconds, 0)
			}
		})
	}
}

// codes are those of notes.
func codes(list []Note) []preprocess.Note {
	var out []preprocess.Note
	for _, n := range list {
		out = append(out, n.Code)
	}
	return out
}

// heardOf are the windows of a report that were judged.
func heardOf(r Report) []Piece {
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Task == string(models.SpeechSynthesis) })
	if i < 0 {
		return nil
	}
	return r.Findings[i].Pieces
}

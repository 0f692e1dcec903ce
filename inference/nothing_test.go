package inference

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/preprocess"
)

// TestNothingToJudge: silence and the like were refused as if their files were damaged, and a picture of one
// colour was judged, though nothing in it tells. They are whole: they are real for want of anything else, with
// the least confidence, and no score is invented.
func TestNothingToJudge(t *testing.T) {
	t.Parallel()
	uniform := preprocess.Frame{Width: 80, Height: 70, Pix: make([]byte, 80*70*3)}
	for i := range uniform.Pix {
		uniform.Pix[i] = byte(40*(i%3) + i%2) // as what a coder makes of one colour
	}
	silence := []preprocess.Window{level(0), level(8 * noiseless)}
	for name, c := range map[string]struct {
		media *preprocess.Media
		want  []ReasonCode
	}{
		"silence":                        {media(preprocess.Audio, nil, silence), []ReasonCode{Silent}},
		"no sound at all":                {media(preprocess.Audio, nil, nil), nil},
		"a picture of one colour":        {media(preprocess.Image, []preprocess.Frame{uniform}, nil), []ReasonCode{Blank}},
		"a film of one, without a sound": {media(preprocess.Video, []preprocess.Frame{uniform, uniform}, silence), []ReasonCode{Silent, Blank, PartlyUnseen}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTestDetector(t, c.media, noFaces)
			d.opts.Prior = .1
			got, err := d.Detect(t.Context(), Request{Sensitivity: Sensitive})
			require.NoError(t, err)
			assert.Equal(t, Real, got.Verdict)
			assert.InDelta(t, .5, got.Confidence, 0)
			r := got.Report
			assert.Equal(t, NotApplicable, r.Assessment)
			assert.InDelta(t, .1, r.ProbabilityFake, 0, "the prior: nothing speaks for or against it")
			assert.Equal(t, c.want, reasonCodes(r))
			for _, decision := range got.Decisions {
				assert.Equal(t, Real, decision.Verdict)
			}
			assert.Len(t, got.Decisions, 3)
			written, err := json.Marshal(r)
			require.NoError(t, err)
			assert.Contains(t, string(written), `"findings":[],"models":[]`, "lists for clients, not null")
		})
	}
}

// TestABlankFilmIsHeard: its pictures have no vote beside its sound, as silence has none beside pictures.
func TestABlankFilmIsHeard(t *testing.T) {
	t.Parallel()
	uniform := preprocess.Frame{Width: 80, Height: 70, Pix: make([]byte, 80*70*3)}
	d := newTestDetector(t, media(preprocess.Video, []preprocess.Frame{uniform}, []preprocess.Window{voice(2)}), noFaces)
	got, err := d.Detect(t.Context(), Request{})
	require.NoError(t, err)
	assert.InDelta(t, 2, got.Report.LogOdds, 1e-3)
	assert.Equal(t, Fake, got.Verdict)
	assert.Equal(t, []ReasonCode{Blank}, reasonCodes(got.Report))
}

// reasonCodes are those of a report's reasons.
func reasonCodes(r Report) []ReasonCode {
	var out []ReasonCode
	for _, why := range r.Reasons {
		out = append(out, why.Code)
	}
	return out
}

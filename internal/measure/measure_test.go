package measure_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"deepfaked/internal/measure"
)

// reference is a draw of two beta distributions, rounded so that there are ties.
var reference = measure.Scores{
	Real: []float64{0.43, 0.29, 0.24, 0.41, 0.42, 0.15, 0.65, 0.55, 0.16, 0.36, 0.67, 0.2, 0.13, 0.41, 0.32, 0.19, 0.7, 0.07, 0.56, 0.67, 0.55, 0.23, 0.36},
	Fake: []float64{0.61, 0.38, 0.88, 0.69, 0.67, 0.58, 0.72, 0.19, 0.58, 0.9, 0.79, 0.53, 0.72, 0.56, 0.54, 0.7, 0.42, 0.45, 0.67, 0.67, 0.47, 0.68, 0.54, 0.77, 0.73, 0.55, 0.64, 0.48, 0.49, 0.95, 0.59},
}

// TestAgainstScikitLearn: AUC by roc_auc_score, EER by brentq on roc_curve's line,
// the interval and the calibration error by their definitions in NumPy. The
// percentiles of a bootstrap, .697 and .928, lie beside the interval.
func TestAgainstScikitLearn(t *testing.T) {
	t.Parallel()
	low, high := reference.AUCInterval()
	for name, c := range map[string]struct{ got, want float64 }{
		"AUC":  {reference.AUC(), .82328190743338},
		"low":  {low, .67831809},
		"high": {high, .91144704},
		"EER":  {reference.EER(), .30434782608663424},
		"ECE":  {reference.ECE(), .1966760168302945},
	} {
		assert.InDelta(t, c.want, c.got, 1e-8, name)
	}
}

func TestByHand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scores        measure.Scores
		auc, eer, ece float64
	}{
		"all in order":         {measure.Scores{Real: []float64{.1, .2}, Fake: []float64{.8, .9}}, 1, 0, .15},
		"all the wrong way":    {measure.Scores{Real: []float64{.9, .8}, Fake: []float64{.2, .1}}, 0, 1, .85},
		"one pair of four":     {measure.Scores{Real: []float64{.1, .4}, Fake: []float64{.35, .8}}, .75, .5, .3375},
		"a coin":               {measure.Scores{Real: []float64{.5, .5, .5}, Fake: []float64{.5}}, .5, .5, 0},
		"ties count half":      {measure.Scores{Real: []float64{.2, .6}, Fake: []float64{.6, 1}}, .875, .25, .1},
		"one genuine, many":    {measure.Scores{Real: []float64{0}, Fake: []float64{1, 1, 1, 1}}, 1, 0, 0},
		"sure, and half right": {measure.Scores{Real: []float64{0, 1}, Fake: []float64{0, 1}}, .5, .5, .5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.InDelta(t, c.auc, c.scores.AUC(), 1e-12, "AUC")
			assert.InDelta(t, c.eer, c.scores.EER(), 1e-12, "EER")
			assert.InDelta(t, c.ece, c.scores.ECE(), 1e-12, "ECE")
		})
	}
}

func TestROCByHand(t *testing.T) {
	t.Parallel()
	s := measure.Scores{Real: []float64{.1, .4}, Fake: []float64{.35, .8}}
	assert.Equal(t, []measure.Rates{{0, 0}, {0, .5}, {.5, .5}, {.5, 1}, {1, 1}}, s.ROC())
	assert.Equal(t, []float64{.1, .4}, s.Real, "the scores are left as they are")
}

// TestReliabilityByHand: a bin of the genuine file alone and one of three fakes
// would weigh 1 to 3 if each file weighed the same.
func TestReliabilityByHand(t *testing.T) {
	t.Parallel()
	s := measure.Scores{Real: []float64{.2}, Fake: []float64{.9, .9, .6}}
	got := s.Reliability()
	want := []measure.Bin{{.5, .2, 0}, {1. / 6, .6, 1}, {1. / 3, .9, 1}}
	if assert.Len(t, got, len(want)) {
		for i, w := range want {
			assert.InDelta(t, w.Weight, got[i].Weight, 1e-12)
			assert.InDelta(t, w.Predicted, got[i].Predicted, 1e-12)
			assert.InDelta(t, w.Fake, got[i].Fake, 1e-12)
		}
	}
	assert.InDelta(t, .5*.2+.4/6+.1/3, s.ECE(), 1e-12)
}

// TestInfiniteScores: a genuine and a fake file that were both given +Inf tied to the ROC and the
// EER, and to the AUC the fake one came behind: a detector that tells nothing had an AUC of 0.
func TestInfiniteScores(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for _, tie := range []float64{inf, -inf, math.MaxFloat64} {
		s := measure.Scores{Real: []float64{tie, tie}, Fake: []float64{tie}}
		assert.InDelta(t, .5, s.AUC(), 1e-12, tie)
		assert.InDelta(t, .5, s.EER(), 1e-12, tie)
	}
	s := measure.Scores{Real: []float64{-inf, inf}, Fake: []float64{-inf, 0, inf}}
	assert.InDelta(t, (.25+.5+.75)/3, s.AUC(), 1e-12)
}

// TestWithoutAClass: nothing is made up where there is nothing to tell apart.
func TestWithoutAClass(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]measure.Scores{
		"nothing": {}, "no fakes": {Real: []float64{.3}}, "no genuine files": {Fake: []float64{.3, .4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low, high := s.AUCInterval()
			for i, v := range []float64{s.AUC(), low, high, s.EER(), s.ECE()} {
				assert.True(t, math.IsNaN(v), "figure %d is %v", i, v)
			}
			assert.Nil(t, s.ROC())
			assert.Nil(t, s.Reliability())
		})
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	r := measure.Decided([]bool{true, false, false, false}, []bool{true, true, false})
	assert.InDelta(t, .25, r.FPR, 1e-12)
	assert.InDelta(t, 2./3, r.TPR, 1e-12)
	assert.InDelta(t, (.75+2./3)/2, r.Balanced(), 1e-12)
	r = measure.Decided(nil, []bool{true})
	assert.True(t, math.IsNaN(r.FPR) && math.IsNaN(r.Balanced()))
	assert.InDelta(t, 1, r.TPR, 0)
}

func TestMedian(t *testing.T) {
	t.Parallel()
	assert.InDelta(t, 2, measure.Median([]float64{3, 1, 2}), 0)
	assert.InDelta(t, 2.5, measure.Median([]float64{4, 1, 3, 2}), 0)
	assert.True(t, math.IsNaN(measure.Median(nil)))
}

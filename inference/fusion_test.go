package inference

import (
	"math"
	"testing"
)

func TestAnyOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []float64
		want float64
	}{
		{"one way is itself", []float64{1.5}, 1.5},
		{"equal evidence is not added up", []float64{2, 2, 2}, 2},
		{"certain against hopeless costs log 2", []float64{10, -50}, 10 - math.Ln2},
		{"odds 1 and 3 have mean 2", []float64{0, math.Log(3)}, math.Ln2},
		{"large numbers do not overflow", []float64{1000, 0}, 1000 - math.Ln2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := anyOf(c.in); math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestLogitInvertsSigmoid(t *testing.T) {
	t.Parallel()
	for _, x := range []float64{-20, -1, 0, 0.5, 15} {
		if got := logit(sigmoid(x)); math.Abs(got-x) > 1e-6 {
			t.Errorf("logit(sigmoid(%v)) = %v", x, got)
		}
	}
	// A prior of 1e-12 was told, and 1e-9 was used.
	if got, want := logit(1e-12), math.Log(1e-12); math.Abs(got-want) > 1e-9 {
		t.Errorf("logit(1e-12) = %v, want %v", got, want)
	}
	for _, p := range []float64{0, 1} {
		if v := logit(p); math.IsInf(v, 0) || math.IsNaN(v) {
			t.Errorf("logit(%v) = %v, want a finite number", p, v)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	wide := claim{low: -1000, high: 1000}
	narrow := claim{low: -1, high: 2}
	for _, c := range []struct {
		name               string
		claim              claim
		logOdds, threshold float64
		verdict            Verdict
		confidence         float64
	}{
		{"at the threshold it is fake", wide, 1, 1, Fake, sigmoid(1)},
		{"below it is real, however unlikely", wide, 1, 2, Real, 1 - sigmoid(1)},
		{"sensitive calls fake what is likely real", wide, -1, -2, Fake, sigmoid(-1)},
		{"extremes stay within 0 and 1", wide, 800, 0, Fake, 1},
		{"extremes stay within 0 and 1, genuine", wide, -800, 0, Real, 1},
		{"nothing is said beyond the validation", narrow, 7, 1, Fake, sigmoid(2)},
		{"nor of what is genuine", narrow, -7, 1, Real, 1 - sigmoid(-1)},
		{"a threshold beyond it still decides", narrow, 7, 8, Real, 1 - sigmoid(2)},
		{"few fakes expected: the same verdict, less confident", claim{-9, 9, logit(0.1)}, 1, 0, Fake, sigmoid(1 - math.Log(9))},
		{"many fakes expected: the same verdict", claim{-9, 9, logit(0.9)}, -1, 0, Real, 1 - sigmoid(-1+math.Log(9))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.claim.decide(c.logOdds, c.logOdds, c.threshold)
			if got.verdict != c.verdict || math.Abs(got.confidence-c.confidence) > 1e-12 {
				t.Errorf("got %+v, want %v %v", got, c.verdict, c.confidence)
			}
		})
	}
}

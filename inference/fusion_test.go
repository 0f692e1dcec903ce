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

// A genuine file just below a line at .75 was told to be real with a confidence of .25, which nobody can read.
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
		{"on the line nothing tells", wide, 1, 1, Fake, .5},
		{"nor just below it", wide, 1 - 1e-9, 1, Real, .5},
		{"real, though fakes are likelier where half of all files are fake", wide, 1, 2, Real, sigmoid(1)},
		{"fake, though genuine files are", wide, -1, -2, Fake, sigmoid(1)},
		{"the same distance is the same confidence", wide, 3, 2, Fake, sigmoid(1)},
		{"never certain", wide, 800, 0, Fake, .9999},
		{"never certain, genuine", wide, -800, 0, Real, .9999},
		{"nothing is said beyond the validation", narrow, 7, 1, Fake, sigmoid(1)},
		{"nor of what is genuine", narrow, -7, 1, Real, sigmoid(2)},
		{"a threshold beyond it still decides, and tells nothing", narrow, 7, 8, Real, .5},
		{"few fakes expected: the same", claim{-9, 9, logit(0.1)}, 1, 0, Fake, sigmoid(1)},
		{"many fakes expected: the same", claim{-9, 9, logit(0.9)}, -1, 0, Real, sigmoid(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := c.claim.decide(c.logOdds, c.logOdds, c.threshold)
			if got.verdict != c.verdict || math.Abs(got.confidence-c.confidence) > .5e-4 || math.Round(got.confidence*1e4)/1e4 != got.confidence {
				t.Errorf("got %+v, want %v %v in four digits", got, c.verdict, c.confidence)
			}
			if got.share != sigmoid(-c.threshold) {
				t.Errorf("the threshold is the break-even at %v fakes, want %v", got.share, sigmoid(-c.threshold))
			}
		})
	}
}

// The confidence is what Bayes' rule makes of the log-odds at the share of fakes that the line supposes.
func TestConfidenceIsTheProbabilityAtTheSupposedShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ logOdds, line float64 }{{3, 1.2}, {-2, 1.2}, {.7, 1.2}, {.1, -.4}} {
		got := claim{low: -9, high: 9}.decide(c.logOdds, c.logOdds, c.line)
		fake := got.share * math.Exp(c.logOdds)
		right := fake / (fake + 1 - got.share)
		if got.verdict == Real {
			right = 1 - right
		}
		if math.Abs(got.confidence-right) > .5e-4 {
			t.Errorf("%v: confidence %v, want %v", c, got.confidence, right)
		}
	}
}

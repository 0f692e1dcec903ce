package measure_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"deepfaked/internal/measure"
)

// drawn are scores with ties, of a detector that is worth something.
func drawn(r *rand.Rand, genuine, fakes int) (s measure.Scores) {
	score := func(shift float64) float64 {
		return math.Round(100/(1+math.Exp(-r.NormFloat64()-shift))) / 100
	}
	for range genuine {
		s.Real = append(s.Real, score(-.5))
	}
	for range fakes {
		s.Fake = append(s.Fake, score(.5))
	}
	return s
}

func TestProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := drawn(r, 1+r.IntN(60), 1+r.IntN(60))
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			area, curve := 0.0, s.ROC()
			for i := 1; i < len(curve); i++ {
				assert.GreaterOrEqual(t, curve[i].FPR, curve[i-1].FPR)
				assert.GreaterOrEqual(t, curve[i].TPR, curve[i-1].TPR)
				assert.NotEqual(t, curve[i], curve[i-1])
				area += (curve[i].FPR - curve[i-1].FPR) * (curve[i].TPR + curve[i-1].TPR) / 2
			}
			assert.InDelta(t, area, s.AUC(), 1e-9, "the AUC is the area under the ROC")
			low, high := s.AUCInterval()
			assert.True(t, 0 <= low && low <= s.AUC() && s.AUC() <= high && high <= 1 && low < high, "%v in [%v, %v]", s.AUC(), low, high)

			swapped := measure.Scores{Real: s.Fake, Fake: s.Real}
			assert.InDelta(t, 1-s.AUC(), swapped.AUC(), 1e-9)
			negated := measure.Scores{Real: mapped(s.Fake, negative), Fake: mapped(s.Real, negative)}
			assert.InDelta(t, s.EER(), negated.EER(), 1e-9, "what is equal is so from both sides")
			cubed := measure.Scores{Real: mapped(s.Real, cube), Fake: mapped(s.Fake, cube)}
			assert.InDelta(t, s.AUC(), cubed.AUC(), 1e-9, "the order alone counts")
			assert.InDelta(t, s.EER(), cubed.EER(), 1e-9)

			tripled := measure.Scores{Real: slices.Repeat(s.Real, 3), Fake: s.Fake}
			assert.InDelta(t, s.AUC(), tripled.AUC(), 1e-9, "classes weigh the same")
			assert.InDelta(t, s.EER(), tripled.EER(), 1e-9)
			assert.InDelta(t, s.ECE(), tripled.ECE(), 1e-9)
			weight := 0.0
			for _, b := range s.Reliability() {
				weight += b.Weight
			}
			assert.InDelta(t, 1, weight, 1e-9, "every file is in a bin")
		})
	}
}

func negative(v float64) float64 { return -v }

func cube(v float64) float64 { return v * v * v }

func mapped(values []float64, f func(float64) float64) (out []float64) {
	for _, v := range values {
		out = append(out, f(v))
	}
	return out
}

// TestIntervalHoldsTheTruth: of intervals of 95 %, 95 of 100 and more hold the AUC that
// normal distributions have, also where a perfect order is frequent, where a class has few
// files (of 3 beside 100 it was 83 in 100), of good detectors (of 20 beside 500 it was 85), and
// where the fakes vary twice as much.
func TestIntervalHoldsTheTruth(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		genuine, fakes int
		shift, spread  float64
	}{
		{100, 100, 1, 1}, {30, 30, 1, 1}, {30, 30, 2.5, 1}, {8, 8, 2.5, 1}, {3, 100, 1, 1}, {200, 5, 1, 1},
		{20, 500, 2, 1}, {20, 500, 3.47, 1}, {50, 500, 3.47, 1}, {500, 50, 1, 2},
	} {
		t.Run(fmt.Sprintf("%d and %d files, %v apart, varying by %v", c.genuine, c.fakes, c.shift, c.spread), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 2))
			truth, held, rounds := .5+.5*math.Erf(c.shift/math.Sqrt(2+2*c.spread*c.spread)), 0, 2000
			for range rounds {
				var s measure.Scores
				for range c.genuine {
					s.Real = append(s.Real, r.NormFloat64())
				}
				for range c.fakes {
					s.Fake = append(s.Fake, c.shift+c.spread*r.NormFloat64())
				}
				if low, high := s.AUCInterval(); low <= truth && truth <= high {
					held++
				}
			}
			t.Logf("%d of %d", held, rounds)
			assert.InDelta(t, .97, float64(held)/float64(rounds), .0295)
		})
	}
}

// TestCalibratedScores: P(fake) that comes true as often as it says has no
// calibration error, and the same scores pushed to the extremes have one.
func TestCalibratedScores(t *testing.T) {
	t.Parallel()
	var s, bold measure.Scores
	r := rand.New(rand.NewPCG(3, 4))
	for range 40000 {
		p := r.Float64()
		pushed := p * p / (p*p + (1-p)*(1-p))
		if r.Float64() < p {
			s.Fake, bold.Fake = append(s.Fake, p), append(bold.Fake, pushed)
		} else {
			s.Real, bold.Real = append(s.Real, p), append(bold.Real, pushed)
		}
	}
	assert.Less(t, s.ECE(), .01)
	assert.Greater(t, bold.ECE(), .05)
}

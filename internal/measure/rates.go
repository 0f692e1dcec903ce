package measure

import (
	"math"
	"slices"
)

// Rates are what a detector's decisions come to.
type Rates struct {
	FPR float64 // share of the genuine files that was called fake
	TPR float64 // share of the fake files that was called fake
}

// Decided counts decisions on genuine and on fake files, true where fake was the
// answer.
func Decided(onReal, onFake []bool) Rates { return Rates{FPR: share(onReal), TPR: share(onFake)} }

// Balanced is the balanced accuracy: the mean of the shares of both classes that
// were called right.
func (r Rates) Balanced() float64 { return (1 - r.FPR + r.TPR) / 2 }

func share(called []bool) float64 {
	n := 0
	for _, c := range called {
		if c {
			n++
		}
	}
	return float64(n) / float64(len(called)) // NaN of none
}

// Median is the middle of the values, and the mean of the middle two.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

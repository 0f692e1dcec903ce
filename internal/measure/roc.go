package measure

import (
	"cmp"
	"math"
	"slices"
)

// Scores are what a detector gave to files whose truth is known: P(fake), or
// whatever rises with it where only the order counts. The methods but Add need
// both classes, leave the scores as they are, and may run concurrently.
type Scores struct{ Real, Fake []float64 }

// Add adds the score of a file.
func (s *Scores) Add(score float64, fake bool) {
	if fake {
		s.Fake = append(s.Fake, score)
	} else {
		s.Real = append(s.Real, score)
	}
}

// both says that there is something to tell apart.
func (s Scores) both() bool { return len(s.Real) > 0 && len(s.Fake) > 0 }

// scored is a file in the order of scores.
type scored struct {
	p      float64
	fake   bool
	weight float64 // both classes weigh one half together
}

// ordered lists all files, the likeliest fakes first.
func (s Scores) ordered() []scored {
	all := make([]scored, 0, len(s.Real)+len(s.Fake))
	for _, p := range s.Real {
		all = append(all, scored{p, false, .5 / float64(len(s.Real))})
	}
	for _, p := range s.Fake {
		all = append(all, scored{p, true, .5 / float64(len(s.Fake))})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(b.p, a.p) })
	return all
}

// tied cuts files in the order of scores into those of equal scores.
func tied(all []scored) (groups [][]scored) {
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && all[end].p == all[start].p {
			end++
		}
		groups = append(groups, all[start:end])
		start = end
	}
	return groups
}

// ROC has a point for each distinct score, what calling fake whatever reaches it comes
// to, from (0, 0), where nothing is called fake, to (1, 1). It is nil without both classes.
func (s Scores) ROC() []Rates {
	if !s.both() {
		return nil
	}
	curve, falsely, rightly := []Rates{{}}, 0, 0
	for _, group := range tied(s.ordered()) {
		for _, f := range group {
			if f.fake {
				rightly++
			} else {
				falsely++
			}
		}
		curve = append(curve, Rates{FPR: float64(falsely) / float64(len(s.Real)), TPR: float64(rightly) / float64(len(s.Fake))})
	}
	return curve
}

// EER is the equal error rate: where as large a share of the genuine files is
// called fake as fake files are missed, on straight lines between the points of
// the ROC.
func (s Scores) EER() float64 {
	curve := s.ROC()
	excess := func(p Rates) float64 { return p.FPR - (1 - p.TPR) }
	for i, p := range curve {
		if now := excess(p); now >= 0 {
			before := curve[i-1] // the first point has none
			share := excess(before) / (excess(before) - now)
			return before.FPR + share*(p.FPR-before.FPR)
		}
	}
	return math.NaN()
}

package measure

import "math"

// bins is how many parts the files are cut into to compare P(fake) with what
// came true.
const bins = 10

// Bin is a tenth of the files, in the order of P(fake).
type Bin struct {
	Weight    float64 // share of all
	Predicted float64 // mean P(fake)
	Fake      float64 // share that is fake
}

// Reliability compares P(fake) with what came true, in bins of equal mass, from
// the lowest P(fake) to the highest. The classes weigh the same, however many
// files each has, because P(fake) is at equal priors. Bins of equal mass are less
// biased than those of equal width (Roelofs et al., Mitigating bias in calibration
// error estimation, AISTATS 2022). Files with the same score stay together, so
// that a bin can be larger than a tenth and another empty; those are left out. It
// is nil without both classes.
func (s Scores) Reliability() []Bin {
	if !s.both() {
		return nil
	}
	var sums [bins]Bin
	below := 1.0
	for _, group := range tied(s.ordered()) {
		weight := 0.0
		for _, f := range group {
			weight += f.weight
		}
		below -= weight
		// The middle of the group says where it belongs; on an edge, rounding does not.
		sum := &sums[min(int(bins*(below+weight/2)+1e-9), bins-1)]
		for _, f := range group {
			sum.Weight += f.weight
			sum.Predicted += f.weight * f.p
			if f.fake {
				sum.Fake += f.weight
			}
		}
	}
	var out []Bin
	for _, b := range sums {
		if b.Weight > 0 {
			out = append(out, Bin{b.Weight, b.Predicted / b.Weight, b.Fake / b.Weight})
		}
	}
	return out
}

// ECE is the expected calibration error: by how much P(fake) differs from the
// share that is fake, averaged over the bins of Reliability. With few files it is
// larger than that of the detector, because the shares scatter.
func (s Scores) ECE() float64 {
	if !s.both() {
		return math.NaN()
	}
	sum := 0.0
	for _, b := range s.Reliability() {
		sum += b.Weight * math.Abs(b.Predicted-b.Fake)
	}
	return sum
}

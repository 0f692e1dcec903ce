package inference

import (
	"math"
	"slices"

	"deepfaked/models"
)

// DESIGN.md derives the three rules below and names their sources.

// sigmoid turns log-odds into a probability.
func sigmoid(logOdds float64) float64 {
	if logOdds >= 0 {
		return 1 / (1 + math.Exp(-logOdds))
	}
	e := math.Exp(logOdds)
	return e / (1 + e)
}

// logit turns a probability into log-odds; 0 and 1 become finite, and no other moves.
func logit(p float64) float64 {
	p = min(max(p, math.SmallestNonzeroFloat64), 1-0x1p-53)
	return math.Log(p) - math.Log1p(-p)
}

// mean pools observations of one and the same thing: the tiles of a picture,
// the frames of a video, the windows of a sound, the models of a task.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// anyOf pools exclusive ways of being fake, each as likely as the others before
// anything was seen: the faces of a frame, the tasks of a file. It is the
// logarithm of the mean of the odds.
func anyOf(logOdds []float64) float64 {
	top, sum := slices.Max(logOdds), 0.0
	for _, v := range logOdds {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum/float64(len(logOdds)))
}

// calibrated maps the mean output of a model to log-odds of fake at equal priors.
func calibrated(c models.Calibration, output float64) float64 { return c.Scale*output + c.Bias }

// claim is how probabilities are told. It bounds what is said, never what is
// decided.
type claim struct {
	low, high float64 // log-odds at equal priors that validation supports
	prior     float64 // log-odds of fake before anything was seen
}

// bound is as much of log-odds as validation supports.
func (c claim) bound(logOdds float64) float64 { return min(max(logOdds, c.low), c.high) }

// probability is what may be told of log-odds at equal priors.
func (c claim) probability(logOdds float64) float64 { return sigmoid(c.bound(logOdds) + c.prior) }

// said is what is told of log-odds.
type said struct {
	verdict    Verdict
	confidence float64 // the probability that the verdict is right, where fakes are as frequent as share says
	share      float64 // of fakes, at which the threshold is the break-even
	threshold  float64 // P(fake) from which on the verdict is Fake, as far as it may be told
}

// decide compares log-odds with a threshold, both at equal priors: the threshold
// stands for a rate of false positives, which no prior changes. Of the log-odds no more than told
// may be told, which may lie beyond a threshold that the log-odds do not; that is told with them then.
//
// A threshold supposes a share of fakes at which a file on it is as likely fake as genuine. By Bayes' rule the
// log-odds of that share are the threshold's, negated. The confidence is the probability at that share.
func (c claim) decide(logOdds, told, threshold float64) said {
	p, line, beyond := c.probability(told), c.probability(threshold), c.bound(told)-c.bound(threshold)
	d := said{verdict: Real, confidence: confidence(-beyond), share: sigmoid(-threshold), threshold: max(line, p)}
	if logOdds >= threshold {
		d.verdict, d.confidence, d.threshold = Fake, confidence(beyond), min(line, p)
	}
	return d
}

// confidence is the probability of log-odds in four digits, from one half on and never certain.
func confidence(logOdds float64) float64 {
	return min(math.Round(sigmoid(max(logOdds, 0))*1e4)/1e4, .9999)
}

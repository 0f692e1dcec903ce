package inference

import (
	"math"

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

// logit turns a probability into log-odds; 0 and 1 become finite.
func logit(p float64) float64 {
	const tiny = 1e-9
	p = min(max(p, tiny), 1-tiny)
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
	top := math.Inf(-1)
	for _, v := range logOdds {
		top = max(top, v)
	}
	sum := 0.0
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

// probability is what may be told of log-odds at equal priors.
func (c claim) probability(logOdds float64) float64 {
	return sigmoid(min(max(logOdds, c.low), c.high) + c.prior)
}

// decide compares log-odds with a threshold, both at equal priors: the threshold
// stands for a rate of false positives, which no prior changes. The confidence is
// the probability, as far as it may be told, that the verdict is right.
func (c claim) decide(logOdds, threshold float64) (Verdict, float64) {
	p := c.probability(logOdds)
	if logOdds >= threshold {
		return Fake, p
	}
	return Real, 1 - p
}

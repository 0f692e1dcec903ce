package inference

import (
	"deepfaked/models"
	"deepfaked/preprocess"
)

// Sensitivities lists the levels, from the fewest false positives to the most.
func Sensitivities() []Sensitivity { return []Sensitivity{Strict, Balanced, Sensitive} }

// Decision is what one sensitivity makes of a judgement.
type Decision struct {
	Threshold float64 // P(fake) from which on the verdict is Fake, as far as it may be told
	Verdict   Verdict
}

// decisions draws the line of every sensitivity, whichever was asked for: who
// measures a detector needs all of them, and judging is what takes time.
func decisions(whole claim, e evidence) map[Sensitivity]Decision {
	out := map[Sensitivity]Decision{}
	for s, threshold := range e.thresholds {
		d := whole.decide(e.logOdds, e.told, threshold)
		out[s] = Decision{Threshold: d.threshold, Verdict: d.verdict}
	}
	return out
}

// thresholds are those of the decisions.
func thresholds(lines map[Sensitivity]Decision) map[Sensitivity]float64 {
	out := map[Sensitivity]float64{}
	for s, d := range lines {
		out[s] = d.Threshold
	}
	return out
}

// taskThreshold pools the thresholds of a task's models for files of a kind as
// their outputs are pooled. It is in log-odds.
func taskThreshold(cards []models.Card, kind preprocess.Kind, s Sensitivity) (logOdds float64) {
	for _, c := range cards {
		logOdds += logit(c.PointsOf(string(kind))[string(s)].Threshold) / float64(len(cards))
	}
	return logOdds
}

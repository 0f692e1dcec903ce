package inference

import (
	"slices"

	"deepfaked/preprocess"
)

// Assessment is what a verdict is worth, in a word. None says that a file is authentic: that is
// nothing that looking for signs of fakes could tell.
type Assessment string

// The assessments.
const (
	LikelyFake    Assessment = "likely_fake"     // the verdict is fake
	Unclear       Assessment = "unclear"         // real, with P(fake) of one half or more at equal priors, or with thin evidence
	NoSignOfFake  Assessment = "no_sign_of_fake" // real, and none of these
	NotApplicable Assessment = "not_applicable"  // nothing of the file can be judged
)

// assess says what a verdict is worth whose log-odds at equal priors may be told so far.
func assess(v Verdict, told float64, why []Reason) Assessment {
	switch {
	case v == Fake:
		return LikelyFake
	case told >= 0, slices.ContainsFunc(why, func(r Reason) bool { return r.Code.thin() }):
		return Unclear
	}
	return NoSignOfFake
}

// notApplicable is the result of a file that holds nothing to judge. No evidence leaves P(fake) at the prior,
// and no line is drawn: none of them is reached, and the verdict is real with a confidence that says nothing.
func notApplicable(kind preprocess.Kind, r Report) Result {
	const unreached, undecided = 1, .5
	r.Assessment, r.ProbabilityFake, r.Threshold, r.SupposedShare = NotApplicable, r.Prior, unreached, undecided
	lines := map[Sensitivity]Decision{}
	for _, s := range Sensitivities() {
		lines[s] = Decision{Threshold: unreached, Verdict: Real}
	}
	r.Thresholds = thresholds(lines)
	return Result{Verdict: Real, Confidence: undecided, Kind: kind, Report: r, Decisions: lines}
}

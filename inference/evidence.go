package inference

import (
	"deepfaked/models"
	"deepfaked/preprocess"
)

// evidence is what speaks for one way of being fake: a task, or several that
// look at the same thing. All is in log-odds at equal priors.
type evidence struct {
	logOdds    float64 // which decide
	told       float64 // as much of them as validation supports
	thresholds map[Sensitivity]float64
	low, high  float64 // what it supports
}

// weigh turns findings into evidence. What the fusion was fitted for is one
// piece of evidence, the rest is one each. Lines are those of files of the kind.
func (d *Detector) weigh(kind preprocess.Kind, findings []finding) []evidence {
	var all []evidence
	var pictures []finding
	for _, f := range findings {
		if d.fusion != nil && d.fusion.Fuses(f.task) {
			pictures = append(pictures, f)
		} else {
			all = append(all, d.single(kind, f))
		}
	}
	if len(pictures) > 0 {
		all = append(all, d.together(kind, pictures))
	}
	return all
}

// single is the evidence of one task.
func (d *Detector) single(kind preprocess.Kind, f finding) evidence {
	e := evidence{logOdds: f.logOdds, told: f.told, low: f.claim.low, high: f.claim.high, thresholds: map[Sensitivity]float64{}}
	for _, s := range Sensitivities() {
		e.thresholds[s] = taskThreshold(d.judges[f.task], kind, s)
	}
	return e
}

// together is the evidence of those of the fused tasks that had something to judge.
func (d *Detector) together(kind preprocess.Kind, findings []finding) evidence {
	each := make([]float64, len(findings))
	for i, f := range findings {
		each[i] = f.logOdds
	}
	c := d.fusion.Calibration(len(findings))
	limits := claim{low: c.Limits[0], high: c.Limits[1]}
	e := evidence{logOdds: calibrated(c, anyOf(each)), low: limits.low, high: limits.high, thresholds: map[Sensitivity]float64{}}
	e.told = limits.bound(e.logOdds)
	points := d.fusion.PointsOf(string(kind))
	for _, s := range Sensitivities() {
		e.thresholds[s] = logit(points[string(s)].Threshold)
	}
	return e
}

// fused is what the report says of the fusion, nil where it had no part.
func (d *Detector) fused(kind preprocess.Kind, findings []finding, s Sensitivity) *FusionUsed {
	if d.fusion == nil {
		return nil
	}
	var tasks []string
	for _, f := range findings {
		if d.fusion.Fuses(f.task) {
			tasks = append(tasks, string(f.task))
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	c, p := d.fusion.Calibration(len(tasks)), d.fusion.PointsOf(string(kind))[string(s)]
	return &FusionUsed{
		Tasks: tasks, Scale: c.Scale, Bias: c.Bias,
		Threshold: p.Threshold, FalsePositiveRate: p.FalsePositiveRate, DetectionRate: p.DetectionRate,
	}
}

// fuse pools exclusive ways of being fake. Of the whole no more may be told than comes of
// what may be told of each: limits that are pooled by themselves would let what one says
// beyond its own pass for something that another has said.
func fuse(all []evidence) evidence {
	pool := func(of func(evidence) float64) float64 {
		values := make([]float64, len(all))
		for i, e := range all {
			values[i] = of(e)
		}
		return anyOf(values)
	}
	out := evidence{
		logOdds: pool(func(e evidence) float64 { return e.logOdds }),
		told:    pool(func(e evidence) float64 { return e.told }),
		low:     pool(func(e evidence) float64 { return e.low }), high: pool(func(e evidence) float64 { return e.high }),
		thresholds: map[Sensitivity]float64{},
	}
	for _, s := range Sensitivities() {
		out.thresholds[s] = pool(func(e evidence) float64 { return e.thresholds[s] })
	}
	return out
}

// Fusion is the one that is in force, or nil. Nobody may write to it.
func (d *Detector) Fusion() *models.Fusion { return d.fusion }

// usableFusion is the fusion where it was fitted with the models at hand, else
// nil: an operator's model next to a built-in one makes its weights meaningless.
func usableFusion(f *models.Fusion, cards []models.Card) *models.Fusion {
	if f == nil || !f.Holds(cards) {
		return nil
	}
	return f
}

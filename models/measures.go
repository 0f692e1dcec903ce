package models

import (
	"math"
	"strconv"
	"strings"
)

func checkCalibration(c *Card) error {
	if err := checkPlatt("calibration", c.Calibration, c.Measured); err != nil {
		return err
	}
	if c.Task != ImageSynthesis && len(c.Calibration.Sizes) > 0 {
		return wrong("calibration.sizes", "must be left out for %s", c.Task)
	}
	if err := checkStretch(c); err != nil {
		return err
	}
	return checkSizes("calibration.sizes", c.Calibration)
}

func checkPlatt(field string, k Calibration, on []Measurement) error {
	if err := checkLine(field, k.Scale, k.Bias); err != nil {
		return err
	}
	switch {
	case k.Method != "platt":
		return wrong(field+".method", "is %q, it must be platt", k.Method)
	case k.Limits != nil && !(k.Limits[0] <= 0 && k.Limits[1] >= 0 && finite(k.Limits[0]) && finite(k.Limits[1])):
		return wrong(field+".limits", "is %g, it must be two finite numbers, one of at most and one of at least 0", *k.Limits)
	}
	if low, high := supported(on); k.Limits != nil && (k.Limits[0] < low || k.Limits[1] > high) {
		return wrong(field+".limits", "is %g, it must stay between %.4g and %.4g: what is measured supports no more", *k.Limits, low, high)
	}
	return nil
}

// steepest bounds what is made of an output, far beyond what any model needs: the log-odds
// of whatever a model answers remain finite numbers, and so do sums of them.
const steepest = 1e9

// checkLine refuses what is no line from outputs to log-odds that grow with them.
func checkLine(field string, scale, bias float64) error {
	switch {
	case !within(scale, 0, steepest) || scale == 0:
		return wrong(field+".scale", "is %g, it must be a positive number of at most %g: the output grows with the odds of fake", scale, steepest)
	case !within(bias, -steepest, steepest):
		return wrong(field+".bias", "is %g, it must be between %g and %g", bias, -steepest, steepest)
	}
	return nil
}

// supported are the log-odds that limits may not go beyond: those of Card.Limits by the
// largest counts that are measured, as of several sets the first need not be the largest.
func supported(on []Measurement) (low, high float64) {
	if len(on) == 0 {
		return counted(unmeasured, unmeasured)
	}
	genuine, fake := 0, 0
	for _, m := range on {
		genuine, fake = max(genuine, m.Real), max(fake, m.Fake)
	}
	return counted(genuine, fake)
}

// counted are the log-odds that so many items of each class support without a mistake.
func counted(genuine, fake int) (low, high float64) {
	return -math.Log1p(float64(fake)), math.Log1p(float64(genuine))
}

// unmeasured is how many items of each class a model is trusted as if it had
// been validated on, when its card measures nothing.
const unmeasured = 20

// Limits are the log-odds of fake, at equal priors, beyond which the card's
// validation supports no claim: those of its calibration, or else the logarithm
// of one item more than its first measurement has of the other class. Not even
// a model that makes no mistake among n genuine items is known to make fewer
// than about one in n.
func (c *Card) Limits() (low, high float64) {
	if l := c.Calibration.Limits; l != nil {
		return l[0], l[1]
	}
	return supported(c.Measured[:min(1, len(c.Measured))])
}

// checkRate refuses what is no share, and what a card leaves out.
func checkRate(field string, v float64) error {
	switch {
	case math.IsNaN(v):
		return wrong(field, "is missing, or no number")
	case !within(v, 0, 1):
		return wrong(field, "is %g, it must be between 0 and 1", v)
	}
	return nil
}

// checkCount refuses what is no number of items, and what a card leaves out.
func checkCount(field string, n int) error {
	switch {
	case n == uncounted:
		return wrong(field, "is missing")
	case n < 0:
		return wrong(field, "is %d, it must not be negative", n)
	}
	return nil
}

// checkEstimate also refuses an estimate that its interval, at another field, rules out.
func checkEstimate(field string, v float64, at string, interval Pair) error {
	if err := checkRate(field, v); err != nil {
		return err
	}
	if err := checkInterval(at, interval); err != nil {
		return err
	}
	if !within(v, interval[0], interval[1]) {
		return wrong(field, "is %g, it must lie within its interval of %g", v, interval)
	}
	return nil
}

func checkInterval(field string, v Pair) error {
	if math.IsNaN(v[0]) || math.IsNaN(v[1]) {
		return wrong(field, "is missing, or not of numbers")
	}
	if !within(v[0], 0, 1) || !within(v[1], v[0], 1) {
		return wrong(field, "is %g, it must be two numbers between 0 and 1 in ascending order", v)
	}
	return nil
}

func checkMeasured(c *Card) error {
	for i, m := range c.Measured {
		field := "measured." + strconv.Itoa(i)
		switch {
		case m.Set == "":
			return wrong(field+".set", "must not be empty")
		case m.ECE != nil && !within(*m.ECE, 0, 1):
			return wrong(field+".ece", "is %g, it must be between 0 and 1", *m.ECE)
		}
		if err := checkCount(field+".real", m.Real); err != nil {
			return err
		}
		if err := checkCount(field+".fake", m.Fake); err != nil {
			return err
		}
		if err := checkEstimate(field+".auc", m.AUC, field+".auc_interval", m.AUCInterval); err != nil {
			return err
		}
		if err := checkRate(field+".eer", m.EER); err != nil {
			return err
		}
	}
	return nil
}

// blank says that nothing can be read there.
func blank(text string) bool { return strings.TrimSpace(text) == "" }

func checkTraining(c *Card) error {
	if !within(c.Training.CPUMinutes, 0, 1e9) {
		return wrong("training.cpu_minutes", "is %g, it must not be negative", c.Training.CPUMinutes)
	}
	if c.Training.HeldOut < 0 {
		return wrong("training.held_out_dropped", "is %d, it must not be negative", c.Training.HeldOut)
	}
	for i, s := range c.Training.Sources {
		field := "training.sources." + strconv.Itoa(i)
		if s.Name == "" {
			return wrong(field+".name", "must not be empty")
		}
		if blank(s.Licence) {
			return wrong(field+".licence", "must not be empty")
		}
	}
	return nil
}

func checkLicences(c *Card) error {
	for _, l := range []struct{ of, name string }{{"code", c.Licences.Code}, {"weights", c.Licences.Weights}, {"data", c.Licences.Data}} {
		if blank(l.name) {
			return wrong("licences."+l.of, "is missing: name the licence, by its SPDX identifier where it has one")
		}
	}
	return nil
}

// maxTolerance is far more than machines and precisions differ by, and too little for
// another model to pass for this one.
const maxTolerance = 0.1

func checkGolden(c *Card) error {
	switch {
	case c.Golden.Pattern != "lcg":
		return wrong("golden.pattern", "is %q, it must be lcg", c.Golden.Pattern)
	case !finite(c.Golden.Output):
		return wrong("golden.output", "is missing, or not finite")
	case !within(c.Golden.Tolerance, 1e-9, maxTolerance):
		return wrong("golden.tolerance", "is %g, it must be between 1e-9 and %g", c.Golden.Tolerance, maxTolerance)
	}
	return nil
}

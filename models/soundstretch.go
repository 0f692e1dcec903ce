package models

import "math"

// Stretch says what the worst stretch of a long sound is worth: the run of Windows overlapping windows whose mean
// log-odds of fake are highest. The more windows a sound has the higher these are, though all of it is genuine.
type Stretch struct {
	Windows int     `json:"windows"` // of a stretch
	Scale   float64 `json:"scale"`
	Whole   float64 `json:"whole"`
	Growth  float64 `json:"growth"`
	Bias    float64 `json:"bias"`
	// Measured are shares of recordings called fake, by a model that knew none of what is in them.
	Measured []StretchMeasurement `json:"measured,omitempty"`
}

// StretchMeasurement is what becomes of recordings of a length at the three lines, strict first.
type StretchMeasurement struct {
	Condition string    `json:"condition"`
	Seconds   float64   `json:"seconds"` // of a recording
	Spliced   float64   `json:"spliced"` // seconds of synthetic speech in it; 0 where all of it is genuine
	Items     int       `json:"items"`
	Whole     []float64 `json:"whole"`  // share called fake by the mean of all windows alone
	Called    []float64 `json:"called"` // share called fake
}

// LogOdds are those of a stretch whose windows have the mean worst, in a sound that has so many of them, with the mean whole.
func (s Stretch) LogOdds(worst, whole float64, windows int) float64 {
	return s.Scale*worst + s.Whole*whole - s.Growth*math.Log(float64(windows)) + s.Bias
}

// widestStretch is of how many windows a stretch is at most: half a minute.
const widestStretch = 16

// checkStretch refuses what is no rule for stretches, or stands with a model of another task.
func checkStretch(c *Card) error {
	s := c.Calibration.Stretch
	switch {
	case s == nil:
		return nil
	case c.Task != SpeechSynthesis:
		return wrong("calibration.stretch", "must be left out for %s", c.Task)
	case s.Windows < 1 || s.Windows > widestStretch:
		return wrong("calibration.stretch.windows", "is %d, it must be between 1 and %d", s.Windows, widestStretch)
	case !within(s.Growth, 0, steepest):
		return wrong("calibration.stretch.growth", "is %g, it must be between 0 and %g: of more windows the highest says less", s.Growth, steepest)
	case !within(s.Whole, -steepest, steepest):
		return wrong("calibration.stretch.whole", "is %g, it must be between %g and %g", s.Whole, -steepest, steepest)
	}
	return checkLine("calibration.stretch", s.Scale, s.Bias)
}

package models

import "strconv"

// Activity says how the output of a model that finds speech is read, and how well it finds it.
type Activity struct {
	Threshold float64            `json:"threshold"` // a step of a window is speech when P(speech) >= Threshold
	Steps     int                `json:"steps"`     // a window holds speech when so many of its steps are
	Measured  []HeardMeasurement `json:"measured,omitempty"`
}

// HeardMeasurement is how many sounds of a set are taken for speech.
type HeardMeasurement struct {
	Set    string `json:"set"`
	Sounds int    `json:"sounds"`
	Speech int    `json:"speech"` // of these
	Note   string `json:"note,omitempty"`
}

// Judges says whether a model of the task judges: others find what is to be judged.
func (t Task) Judges() bool { return t != FaceDetection && t != VoiceActivity }

// checkActivity checks what the card of a model that finds speech says of it.
func checkActivity(c *Card) error {
	if err := checkJudgesNothing(c); err != nil {
		return err
	}
	switch a := c.Activity; {
	case a == nil:
		return wrong("activity", "is missing")
	case c.Detection != nil:
		return wrong("detection", "must be left out for %s", c.Task)
	case !isThreshold(a.Threshold) || a.Threshold == 1:
		return wrong("activity.threshold", "is %g or missing, it must be above 0 and below 1", a.Threshold)
	case a.Steps < 1 || int64(a.Steps) > c.Output.Shape[1]:
		return wrong("activity.steps", "is %d, it must be between 1 and %d, the steps of a row of the output", a.Steps, c.Output.Shape[1])
	}
	for i, m := range c.Activity.Measured {
		if field := "activity.measured." + strconv.Itoa(i); m.Set == "" {
			return wrong(field+".set", "must not be empty")
		} else if m.Speech < 0 || m.Speech > m.Sounds {
			return wrong(field+".speech", "is %d, it must be between 0 and the %d sounds", m.Speech, m.Sounds)
		}
	}
	return nil
}

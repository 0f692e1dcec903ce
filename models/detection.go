package models

import (
	"reflect"
	"slices"
	"strconv"
)

// Detection says how the boxes of a model that finds faces are read, and how well
// it finds them.
type Detection struct {
	Threshold float64          `json:"threshold"` // a box is a face when P(face) >= Threshold
	Overlap   float64          `json:"overlap"`   // intersection over union beyond which the weaker of two boxes is dropped
	Measured  []BoxMeasurement `json:"measured,omitempty"`
}

// BoxMeasurement is one figure set, on sources unseen in training.
type BoxMeasurement struct {
	Set               string  `json:"set"`
	Condition         string  `json:"condition"` // clean, or how the files were re-encoded
	Pictures          int     `json:"pictures"`
	Faces             int     `json:"faces"`
	Precision         float64 `json:"precision"`
	PrecisionInterval Pair    `json:"precision_interval"` // 95 %
	Recall            float64 `json:"recall"`
	RecallInterval    Pair    `json:"recall_interval"` // 95 %
	Note              string  `json:"note,omitempty"`
}

// BoxLen is the numbers of one box: the log-odds of a face, and its left, upper,
// right and lower edge.
const BoxLen = 5

// checkVerdict checks what a card says of judging, which one that finds faces
// says nothing about.
func checkVerdict(c *Card) error {
	switch {
	case c.Task == VoiceActivity:
		return checkActivity(c)
	case c.Activity != nil:
		return wrong("activity", "must be left out for %s", c.Task)
	case c.Task == FaceDetection:
		return checkDetection(c)
	case c.Detection != nil:
		return wrong("detection", "must be left out for %s", c.Task)
	}
	for _, check := range []func(*Card) error{checkCalibration, checkOperatingPoints, checkMeasured, checkBySource} {
		if err := check(c); err != nil {
			return err
		}
	}
	return nil
}

// Used is the model that is used where several of cards are of a task that judges nothing: the last, which is an
// operator's rather than the built-in one. It is nil where there is none.
func Used(cards []Card, t Task) *Card {
	for i := range slices.Backward(cards) {
		if cards[i].Task == t {
			return &cards[i]
		}
	}
	return nil
}

// checkJudgesNothing refuses what only the card of a model that judges has.
func checkJudgesNothing(c *Card) error {
	switch {
	case !reflect.ValueOf(c.Calibration).IsZero():
		return wrong("calibration", "must be left out for %s", c.Task)
	case len(c.OperatingPoints) > 0:
		return wrong("operating_points", "must be left out for %s", c.Task)
	case len(c.ByMedium) > 0:
		return wrong("operating_points_by_medium", "must be left out for %s", c.Task)
	case len(c.Measured) > 0:
		return wrong("measured", "must be left out for %s: its figures have a place of their own", c.Task)
	case len(c.BySource) > 0:
		return wrong("by_source", "must be left out for %s", c.Task)
	}
	return nil
}

func checkDetection(c *Card) error {
	if err := checkJudgesNothing(c); err != nil {
		return err
	}
	switch d := c.Detection; {
	case d == nil:
		return wrong("detection", "is missing")
	case !isThreshold(d.Threshold):
		return wrong("detection.threshold", "is %g or missing, it must be above 0 and at most 1", d.Threshold)
	case !isThreshold(d.Overlap):
		return wrong("detection.overlap", "is %g or missing, it must be above 0 and at most 1", d.Overlap)
	}
	for i, m := range c.Detection.Measured {
		if err := checkBoxes("detection.measured."+strconv.Itoa(i), m); err != nil {
			return err
		}
	}
	return nil
}

func checkBoxes(field string, m BoxMeasurement) error {
	switch {
	case m.Set == "":
		return wrong(field+".set", "must not be empty")
	case m.Pictures < 0:
		return wrong(field+".pictures", "is %d, it must not be negative", m.Pictures)
	case m.Faces < 0:
		return wrong(field+".faces", "is %d, it must not be negative", m.Faces)
	}
	if err := checkEstimate(field+".precision", m.Precision, field+".precision_interval", m.PrecisionInterval); err != nil {
		return err
	}
	return checkEstimate(field+".recall", m.Recall, field+".recall_interval", m.RecallInterval)
}

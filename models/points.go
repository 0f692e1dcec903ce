package models

import (
	"maps"
	"slices"
)

// levels are the sensitivities of the contract, from the highest threshold to
// the lowest.
var levels = [...]string{"strict", "balanced", "sensitive"}

// aims are the shares of genuine files that may be called fake there, as the contract
// has them.
var aims = map[string]float64{"strict": .01, "balanced": .05, "sensitive": .15}

// media are the kinds of files of the contract.
var media = []string{"image", "audio", "video"}

// OperatingPoints holds that of each sensitivity: strict, balanced and sensitive.
type OperatingPoints map[string]OperatingPoint

// OperatingPoint ties a sensitivity level to a threshold on P(fake) and to what
// was measured there on the validation set.
type OperatingPoint struct {
	FalsePositiveRate     float64  `json:"false_positive_rate,omitempty"`     // aimed at: .01, .05, .15; 0 where nothing is
	FalsePositiveInterval *Pair    `json:"false_positive_interval,omitempty"` // 95 %, of what genuine files are above it
	Threshold             float64  `json:"threshold"`                         // fake when P(fake) >= Threshold
	DetectionRate         *float64 `json:"detection_rate,omitempty"`          // share of fakes caught there, nil where nobody has measured it
	DetectionInterval     *Pair    `json:"detection_interval,omitempty"`      // 95 %, with it
}

// PointsOf are the operating points for files of a medium: image, audio or video.
func (c *Card) PointsOf(medium string) OperatingPoints {
	return pointsOf(medium, c.OperatingPoints, c.ByMedium)
}

// PointsOf are the operating points for files of a medium: image, audio or video.
func (f *Fusion) PointsOf(medium string) OperatingPoints {
	return pointsOf(medium, f.OperatingPoints, f.ByMedium)
}

func pointsOf(medium string, all OperatingPoints, own map[string]OperatingPoints) OperatingPoints {
	if points, ok := own[medium]; ok {
		return points
	}
	return all
}

func checkOperatingPoints(c *Card) error {
	if err := checkPoints("operating_points", c.OperatingPoints); err != nil {
		return err
	}
	for _, medium := range slices.Sorted(maps.Keys(c.ByMedium)) {
		field := "operating_points_by_medium." + medium
		if !slices.Contains(media, medium) {
			return wrong(field, "is of no medium, it must be one of %q", media)
		}
		if err := checkPoints(field, c.ByMedium[medium]); err != nil {
			return err
		}
	}
	return nil
}

func checkPoints(field string, points OperatingPoints) error {
	above := 1.0
	for _, level := range levels {
		at := field + "." + level
		point, ok := points[level]
		if !ok {
			return wrong(at, "is missing")
		}
		if aim := aims[level]; point.FalsePositiveRate != 0 && point.FalsePositiveRate != aim {
			return wrong(at+".false_positive_rate", "is %g, it must be %g, or left out where nothing is promised", point.FalsePositiveRate, aim)
		}
		if err := checkPoint(at, point); err != nil {
			return err
		}
		if point.Threshold > above {
			return wrong(at+".threshold", "is %g, it must not exceed the next stricter level's %g", point.Threshold, above)
		}
		above = point.Threshold
	}
	if len(points) != len(levels) {
		return wrong(field, "must have exactly the levels %q", levels)
	}
	return nil
}

func checkPoint(field string, p OperatingPoint) error {
	if !isThreshold(p.Threshold) {
		return wrong(field+".threshold", "is %g or missing, it must be above 0 and at most 1", p.Threshold)
	}
	if p.FalsePositiveInterval != nil {
		if err := checkInterval(field+".false_positive_interval", *p.FalsePositiveInterval); err != nil {
			return err
		}
	}
	return checkCaught(field+".detection_rate", p.DetectionRate, field+".detection_interval", p.DetectionInterval)
}

// checkCaught takes a share with its interval, or neither: half of it would read as a
// measured 0.
func checkCaught(field string, rate *float64, at string, interval *Pair) error {
	switch {
	case rate == nil && interval == nil:
		return nil
	case rate == nil:
		return wrong(field, "is missing beside its interval")
	case interval == nil:
		return wrong(at, "is missing beside its rate")
	}
	return checkEstimate(field, *rate, at, *interval)
}

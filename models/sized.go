package models

import (
	"math"
	"strconv"
)

// At is the calibration of a picture, or of a frame of a film, whose shorter side has so
// many pixels. Between two of the sizes it goes over from one to the other with the
// logarithm of the side; below the first that one holds, and from the last on, which has the
// same, the card's own.
func (c Calibration) At(side int) Calibration {
	at := c
	at.Sizes = nil
	for i, s := range c.Sizes {
		if side > s.Side {
			continue
		}
		at.Scale, at.Bias = s.Scale, s.Bias
		if i > 0 {
			before := c.Sizes[i-1]
			share := math.Log(float64(side)/float64(before.Side)) / math.Log(float64(s.Side)/float64(before.Side))
			at.Scale, at.Bias = mix(before.Scale, s.Scale, share), mix(before.Bias, s.Bias, share)
		}
		break
	}
	return at
}

func mix(a, b, share float64) float64 { return (1-share)*a + share*b }

// checkSizes refuses sizes that are out of order, calibrations that are none, and a jump at the last.
func checkSizes(field string, c Calibration) error {
	sizes := c.Sizes
	for i, s := range sizes {
		at := field + "." + strconv.Itoa(i)
		if err := checkLine(at, s.Scale, s.Bias); err != nil {
			return err
		}
		switch {
		case s.Side < 1 || i > 0 && s.Side <= sizes[i-1].Side:
			return wrong(at+".side", "is %d, it must be positive, and more than that of the size before", s.Side)
		case i == len(sizes)-1 && (s.Scale != c.Scale || s.Bias != c.Bias):
			return wrong(at+".scale", "with bias is %g, %g, it must be as the calibration itself: from this size on that one holds", s.Scale, s.Bias)
		}
	}
	return nil
}

package models

import (
	"errors"
	"math"
	"testing"
)

// TestCalibrationAt: reduced pictures of both kinds score higher the smaller they are, so that by
// one calibration for all sizes every third genuine picture of 128 pixels was called fake.
func TestCalibrationAt(t *testing.T) {
	t.Parallel()
	c := Calibration{Method: "platt", Scale: 2, Bias: 0.5, Limits: &Pair{-1, 1}, Sizes: []Sized{{64, 0.5, -1}, {128, 1, -2}, {512, 2, 0.5}}}
	for side, want := range map[int][2]float64{
		1: {0.5, -1}, 64: {0.5, -1}, 128: {1, -2}, 256: {1.5, -0.75}, 512: {2, 0.5}, 513: {2, 0.5}, 4000: {2, 0.5},
	} {
		if at := c.At(side); math.Abs(at.Scale-want[0]) > 1e-12 || math.Abs(at.Bias-want[1]) > 1e-12 || at.Limits != c.Limits {
			t.Errorf("%d pixels: %+v, want %v", side, at, want)
		}
	}
	if at := (Calibration{Scale: 3, Bias: 1}).At(5); at.Scale != 3 || at.Bias != 1 {
		t.Errorf("without sizes: %+v", at)
	}
}

func TestSizesThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field string
		spoil func(*Card)
	}{
		"size without a side":   {"calibration.sizes.0.side", func(c *Card) { c.Calibration.Sizes = []Sized{{0, 1, 0}} }},
		"sizes out of order":    {"calibration.sizes.1.side", func(c *Card) { c.Calibration.Sizes = []Sized{{64, 1, 0}, {64, 1, 0}} }},
		"size's scale negative": {"calibration.sizes.0.scale", func(c *Card) { c.Calibration.Sizes = []Sized{{64, -1, 0}} }},
		"size with a jump":      {"calibration.sizes.0.scale", func(c *Card) { c.Calibration.Sizes = []Sized{{64, c.Calibration.Scale + 1, c.Calibration.Bias}} }},
		"sizes of faces": {"calibration.sizes", func(c *Card) {
			c.Task, c.Preprocessing.Tiles, c.Preprocessing.Margin = FaceManipulation, 0, 1
			c.Calibration.Sizes = []Sized{{64, c.Calibration.Scale, c.Calibration.Bias}}
		}},
		"size's bias infinite": {"calibration.sizes.0.bias", func(c *Card) { c.Calibration.Sizes = []Sized{{64, 1, math.Inf(1)}} }},
	} {
		card := validCard()
		c.spoil(&card)
		if wrong, ok := errors.AsType[*CardError](card.Validate()); !ok || wrong.Field != c.field {
			t.Errorf("%s: %v, want an error of %s", name, wrong, c.field)
		}
	}
}

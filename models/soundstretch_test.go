package models

import (
	"errors"
	"math"
	"testing"
)

// TestStretchLogOdds: of twice as many windows the same stretch says less.
func TestStretchLogOdds(t *testing.T) {
	t.Parallel()
	s := Stretch{Windows: 2, Scale: 0.5, Whole: -0.25, Growth: 2, Bias: 1}
	if got := s.LogOdds(4, -2, 1); got != 3.5 {
		t.Errorf("got %g", got)
	}
	if got, want := s.LogOdds(4, -2, 20)-s.LogOdds(4, -2, 10), -2*math.Ln2; math.Abs(got-want) > 1e-12 {
		t.Errorf("twice as many windows move it by %g, want %g", got, want)
	}
}

func TestStretchesThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field string
		spoil func(*Stretch)
	}{
		"of no windows":       {"calibration.stretch.windows", func(s *Stretch) { s.Windows = 0 }},
		"of a minute":         {"calibration.stretch.windows", func(s *Stretch) { s.Windows = 30 }},
		"upside down":         {"calibration.stretch.scale", func(s *Stretch) { s.Scale = -1 }},
		"more for being long": {"calibration.stretch.growth", func(s *Stretch) { s.Growth = -1 }},
		"no number":           {"calibration.stretch.whole", func(s *Stretch) { s.Whole = math.NaN() }},
		"an infinite bias":    {"calibration.stretch.bias", func(s *Stretch) { s.Bias = math.Inf(1) }},
	} {
		card := speechCard()
		card.Calibration.Stretch = &Stretch{Windows: 2, Scale: 1, Growth: 1}
		if err := card.Validate(); err != nil {
			t.Fatal(err)
		}
		c.spoil(card.Calibration.Stretch)
		if wrong, ok := errors.AsType[*CardError](card.Validate()); !ok || wrong.Field != c.field {
			t.Errorf("%s: %v, want an error of %s", name, wrong, c.field)
		}
	}
	card := validCard()
	card.Calibration.Stretch = &Stretch{Windows: 2, Scale: 1}
	if wrong, ok := errors.AsType[*CardError](card.Validate()); !ok || wrong.Field != "calibration.stretch" {
		t.Errorf("a stretch of pictures: %v", wrong)
	}
}

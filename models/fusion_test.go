package models

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func validFusion() Fusion {
	return Fusion{
		Schema:          1,
		Models:          []FusedModel{{ImageSynthesis, "a", "1"}, {FaceManipulation, "b", "2"}},
		Alone:           Calibration{Method: "platt", Scale: 1, Bias: .1, Limits: &Pair{-1, 2}},
		Together:        Calibration{Method: "platt", Scale: 2, Bias: -.1, Limits: &Pair{-2, 1}},
		OperatingPoints: validCard().OperatingPoints,
		Measured:        []Measurement{{Set: "x", AUC: .7, AUCInterval: [2]float64{.6, .8}, EER: .3, Real: 9, Fake: 9}},
	}
}

// For each of the built-in picture models a built-in fusion must hold, and each must hold for one of
// them, or it is never used.
func TestBuiltinFusionsHold(t *testing.T) {
	t.Parallel()
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	fusions, err := BuiltinFusions()
	if err != nil || len(fusions) == 0 {
		t.Fatal(fusions, err)
	}
	held := map[string]bool{}
	for _, judge := range all {
		if judge.Card.Task != ImageSynthesis {
			continue
		}
		cards := []Card{judge.Card}
		for _, m := range all {
			if m.Card.Task != ImageSynthesis {
				cards = append(cards, m.Card)
			}
		}
		f, err := BuiltinFusion(cards)
		if err != nil || f == nil {
			t.Errorf("none was fitted with %s and the other models that are built in: run make train-fusion (%v)", judge.Card.Name, err)
			continue
		}
		held[fmt.Sprint(f.Models)] = true
	}
	if len(held) != len(fusions) {
		t.Errorf("of %d fusions %d hold for built-in models", len(fusions), len(held))
	}
}

// With an operator's models none holds.
func TestNoBuiltinFusionHolds(t *testing.T) {
	t.Parallel()
	if f, err := BuiltinFusion([]Card{validCard()}); f != nil || err != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestFusionValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		field string
		spoil func(*Fusion)
	}{
		"nothing":           {"", func(*Fusion) {}},
		"schema":            {"schema", func(f *Fusion) { f.Schema = 2 }},
		"no models":         {"models", func(f *Fusion) { f.Models = nil }},
		"a finder":          {"models.1.task", func(f *Fusion) { f.Models[1].Task = FaceDetection }},
		"no task":           {"models.0.task", func(f *Fusion) { f.Models[0].Task = "smell" }},
		"two of a task":     {"models.1.task", func(f *Fusion) { f.Models[1].Task = ImageSynthesis }},
		"method":            {"alone.method", func(f *Fusion) { f.Alone.Method = "guess" }},
		"negative scale":    {"together.scale", func(f *Fusion) { f.Together.Scale = -.1 }},
		"bias":              {"alone.bias", func(f *Fusion) { f.Alone.Bias = math.Inf(1) }},
		"limits":            {"together.limits", func(f *Fusion) { f.Together.Limits = &Pair{1, 2} }},
		"sure limits":       {"together.limits", func(f *Fusion) { f.Together.Limits = &Pair{-2.4, 1} }},
		"no limits":         {"alone.limits", func(f *Fusion) { f.Alone.Limits = nil }},
		"level":             {"operating_points.strict", func(f *Fusion) { f.OperatingPoints = nil }},
		"level of a medium": {"operating_points_by_medium.video.strict", func(f *Fusion) { f.ByMedium = map[string]OperatingPoints{"video": {}} }},
		"measured":          {"measured.0.auc", func(f *Fusion) { f.Measured[0].AUC = 7 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := validFusion()
			c.spoil(&f)
			err := f.Validate()
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var wrong *CardError
			if !errors.As(err, &wrong) || wrong.Field != c.field {
				t.Errorf("says %v, want the field %s", err, c.field)
			}
		})
	}
}

func TestFusionHolds(t *testing.T) {
	t.Parallel()
	card := func(task Task, name, version string) Card { return Card{Task: task, Name: name, Version: version} }
	a, b, speech := card(ImageSynthesis, "a", "1"), card(FaceManipulation, "b", "2"), card(SpeechSynthesis, "s", "3")
	for name, c := range map[string]struct {
		cards []Card
		want  bool
	}{
		"its own":              {[]Card{a, b}, true},
		"and another task":     {[]Card{speech, b, a}, true},
		"and motion":           {[]Card{a, b, card(FaceMotion, "m", "1")}, true},
		"one is missing":       {[]Card{a, speech}, false},
		"another version":      {[]Card{a, card(FaceManipulation, "b", "3")}, false},
		"another model":        {[]Card{card(ImageSynthesis, "c", "1"), b}, false},
		"an operator's beside": {[]Card{a, b, card(FaceManipulation, "c", "1")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := validFusion()
			if got := f.Holds(c.cards); got != c.want {
				t.Errorf("holds: %v", got)
			}
		})
	}
}

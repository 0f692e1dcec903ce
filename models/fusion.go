package models

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Fusion says what the log-odds of several tasks that look at the same picture
// come to together, by logistic regression fitted on validation.
type Fusion struct {
	Schema          int                        `json:"schema"` // version of this format: 1
	Models          []FusedModel               `json:"models"` // one for each task; with others it does not hold
	Bias            float64                    `json:"bias"`   // log-odds
	Limits          Pair                       `json:"limits"` // as in Calibration
	OperatingPoints OperatingPoints            `json:"operating_points"`
	ByMedium        map[string]OperatingPoints `json:"operating_points_by_medium,omitempty"` // as in Card
	Measured        []Measurement              `json:"measured"`
	Note            string                     `json:"note,omitempty"`
}

// FusedModel is a model whose log-odds are weighed.
type FusedModel struct {
	Task    Task    `json:"task"`
	Name    string  `json:"name"`
	Version string  `json:"version"`
	Weight  float64 `json:"weight"` // never negative: evidence of a fake speaks for nothing else
}

// fusionFile is the name of the built-in fusion.
const fusionFile = "builtin/fusion.json"

// BuiltinFusion is the fusion of the built-in models that judge pictures.
func BuiltinFusion() (*Fusion, error) {
	data, err := builtin.ReadFile(fusionFile)
	if err != nil {
		return nil, fmt.Errorf("built-in fusion: %w", err)
	}
	f := new(Fusion)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, fmt.Errorf("built-in fusion: %w", err)
	}
	if err := f.Validate(); err != nil {
		return nil, fmt.Errorf("built-in fusion: %w", err)
	}
	return f, nil
}

// Validate returns a *CardError for the first field that makes no sense.
func (f *Fusion) Validate() error {
	if f.Schema != Schema {
		return wrong("schema", "is %d, this version reads %d", f.Schema, Schema)
	}
	if len(f.Models) == 0 {
		return wrong("models", "must name the models that are fused")
	}
	for i, m := range f.Models {
		field := fmt.Sprintf("models.%d", i)
		switch {
		case !slices.Contains(Tasks(), m.Task) || m.Task == FaceDetection:
			return wrong(field+".task", "is %q, which judges nothing", m.Task)
		case slices.ContainsFunc(f.Models[:i], func(o FusedModel) bool { return o.Task == m.Task }):
			return wrong(field+".task", "is %q, as that of another", m.Task)
		case !finite(m.Weight) || m.Weight < 0:
			return wrong(field+".weight", "is %g, it must be a number of at least 0", m.Weight)
		}
	}
	// The rest is what a card says of judging, so that it is checked alike.
	limits := f.Limits
	card := Card{
		Calibration:     Calibration{Method: "platt", Scale: 1, Bias: f.Bias, Limits: &limits},
		OperatingPoints: f.OperatingPoints, ByMedium: f.ByMedium, Measured: f.Measured,
	}
	return checkVerdict(&card)
}

// Holds says whether the fusion was fitted with just these models for its tasks.
func (f *Fusion) Holds(cards []Card) bool {
	for _, m := range f.Models {
		n := 0
		for _, c := range cards {
			if c.Task != m.Task {
				continue
			}
			if n++; n > 1 || c.Name != m.Name || c.Version != m.Version {
				return false
			}
		}
		if n == 0 {
			return false
		}
	}
	return true
}

// Weight is that of a task, and whether the task is fused at all.
func (f *Fusion) Weight(t Task) (float64, bool) {
	for _, m := range f.Models {
		if m.Task == t {
			return m.Weight, true
		}
	}
	return 0, false
}

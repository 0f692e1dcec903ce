package models

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Fusion says what several tasks that look at the same picture come to together: the
// mean of the odds of those that had something to judge, brought to what validation
// showed by logistic regression.
type Fusion struct {
	Schema          int                        `json:"schema"`   // version of this format: 1
	Models          []FusedModel               `json:"models"`   // one for each task; with others it does not hold
	Alone           Calibration                `json:"alone"`    // where one of the tasks had something to judge
	Together        Calibration                `json:"together"` // where several had
	OperatingPoints OperatingPoints            `json:"operating_points"`
	ByMedium        map[string]OperatingPoints `json:"operating_points_by_medium,omitempty"` // as in Card
	Measured        []Measurement              `json:"measured"`
	Note            string                     `json:"note,omitempty"`
}

// FusedModel is a model whose odds are fused.
type FusedModel struct {
	Task    Task   `json:"task"`
	Name    string `json:"name"`
	Version string `json:"version"`
}

// fusionFiles are the built-in fusions: one for each set of built-in models that may run together.
const fusionFiles = "builtin/fusion*.json"

// BuiltinFusions are the fusions of the built-in models that judge pictures.
func BuiltinFusions() ([]*Fusion, error) {
	names, err := fs.Glob(builtin, fusionFiles)
	if err != nil {
		return nil, fmt.Errorf("built-in fusions: %w", err)
	}
	all := make([]*Fusion, len(names))
	for i, name := range names {
		if all[i], err = readFusion(name); err != nil {
			return nil, fmt.Errorf("built-in fusion %s: %w", path.Base(name), err)
		}
	}
	return all, nil
}

// BuiltinFusion is the built-in fusion that holds for the cards of what runs, or nil where none does.
func BuiltinFusion(cards []Card) (*Fusion, error) {
	all, err := BuiltinFusions()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(f *Fusion) bool { return f.Holds(cards) })
	if i < 0 {
		return nil, nil
	}
	return all[i], nil
}

func readFusion(name string) (*Fusion, error) {
	data, err := builtin.ReadFile(name)
	if err != nil {
		return nil, err
	}
	f := new(Fusion)
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	return f, f.Validate()
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
		case !slices.Contains(Tasks(), m.Task) || !m.Task.Judges():
			return wrong(field+".task", "is %q, which judges nothing", m.Task)
		case slices.ContainsFunc(f.Models[:i], func(o FusedModel) bool { return o.Task == m.Task }):
			return wrong(field+".task", "is %q, as that of another", m.Task)
		}
	}
	for field, c := range map[string]Calibration{"alone": f.Alone, "together": f.Together} {
		if len(c.Sizes) > 0 {
			return wrong(field+".sizes", "must be left out: sizes are the models' affair")
		}
		if c.Stretch != nil {
			return wrong(field+".stretch", "must be left out: stretches are the models' affair")
		}
		if err := checkPlatt(field, c, f.Measured); err != nil {
			return err
		}
		if c.Limits == nil {
			return wrong(field+".limits", "is missing")
		}
	}
	// The rest is what a card says of judging, so that it is checked alike.
	card := Card{Calibration: f.Alone, OperatingPoints: f.OperatingPoints, ByMedium: f.ByMedium, Measured: f.Measured}
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

// Fuses says whether the task is one of those that are fused.
func (f *Fusion) Fuses(t Task) bool {
	return slices.ContainsFunc(f.Models, func(m FusedModel) bool { return m.Task == t })
}

// Calibration is that of a file in which n of the tasks had something to judge. Its
// limits are never nil.
func (f *Fusion) Calibration(n int) Calibration {
	if n > 1 {
		return f.Together
	}
	return f.Alone
}

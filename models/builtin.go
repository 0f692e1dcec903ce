package models

import (
	"embed"
	"fmt"
	"slices"
)

//go:embed all:builtin
var builtin embed.FS

// Builtin reads the models that are embedded in the binary. There may be none. The weights of some
// may be in files that FindWeights has to look for; of the others of a task each does without.
func Builtin() ([]*Model, error) {
	found, err := scan(builtin, "builtin")
	if err != nil {
		return nil, fmt.Errorf("built-in models: %w", err)
	}
	all, err := sound(found)
	if err != nil {
		return nil, fmt.Errorf("built-in models: %w", err)
	}
	return all, nil
}

// Whole are those of the models that need no file of weights beside their own.
func Whole(all []*Model) []*Model {
	return slices.DeleteFunc(slices.Clone(all), func(m *Model) bool { return m.Card.Weights != nil })
}

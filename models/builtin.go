package models

import (
	"embed"
	"fmt"
)

//go:embed all:builtin
var builtin embed.FS

// Builtin reads the models that are embedded in the binary. There may be none.
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

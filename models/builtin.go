package models

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed all:builtin
var builtin embed.FS

// The cascade comes from a Go module and is not committed; a changed file must
// not change what the detectors see unnoticed.
const (
	cascadeFile   = "builtin/face-detection/facefinder"
	cascadeSHA256 = "d8014993e7298c7b1865d1f8b855d6dbf4ec5c808bf879e2091ab6837abf90cd"
)

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

// FaceCascade returns pigo's face detection cascade. It is an error when the
// binary was built without it; the message says how to build it with it.
func FaceCascade() ([]byte, error) { return faceCascade(builtin) }

func faceCascade(fsys fs.FS) ([]byte, error) {
	data, err := fs.ReadFile(fsys, cascadeFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the face detection cascade is missing from this binary: run make setup and build again")
	}
	if err != nil {
		return nil, fmt.Errorf("face detection cascade: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != cascadeSHA256 {
		return nil, fmt.Errorf("the face detection cascade has SHA-256 %x, not the pinned one: run make setup and build again", sum)
	}
	return data, nil
}

package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"reflect"
)

// Bounds of what is read into memory for one model.
const (
	MaxCardBytes  = 1 << 20
	MaxModelBytes = 1 << 30
)

// Model is a card and the ONNX files that it speaks of, checked against each
// other. It is safe to share; nobody may write to it.
type Model struct {
	Card      Card
	ONNX      []byte
	Weights   string    // folder of the file of weights that the graph refers to; empty where there is none, or before FindWeights
	Precision Precision // of a variant; empty where the card's own file is meant
	variants  [][]byte  // those of Card.Variants
	whole     *Card     // of the model that a variant is one of; nil where the card's own file is meant
}

// Load reads the model in the folder dir of fsys. The error wraps
// fs.ErrNotExist when there is no card, and a *CardError when the card is wrong
// or its file is not the one whose SHA-256 it names. It names the model where
// the card does. A file of weights that the card names is not looked for: FindWeights does.
func Load(fsys fs.FS, dir string) (*Model, error) {
	data, err := readFile(fsys, path.Join(dir, CardFile), MaxCardBytes)
	if err != nil {
		return nil, err
	}
	card, err := Parse(data)
	if err != nil {
		return nil, err
	}
	m := &Model{Card: *card}
	if m.ONNX, err = loadFile(fsys, dir, *card); err != nil {
		return nil, err
	}
	if err := m.loadVariants(fsys, dir); err != nil {
		return nil, err
	}
	return m, nil
}

// loadFile reads the file that the card names and compares its checksum.
func loadFile(fsys fs.FS, dir string, card Card) ([]byte, error) {
	onnx, err := readFile(fsys, path.Join(dir, card.File), MaxModelBytes)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", card.Name, err)
	}
	if sum := sha256.Sum256(onnx); hex.EncodeToString(sum[:]) != card.SHA256 {
		return nil, fmt.Errorf("model %s: %w", card.Name, wrong("sha256",
			"is not that of %s, which is %x: the file is damaged or belongs to another card; fetch both again", card.File, sum))
	}
	return onnx, nil
}

// Parse reads and validates a card. Fields that it does not know are ignored:
// a card may say more than this version understands.
func Parse(data []byte) (*Card, error) {
	var card Card
	dec := json.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&card); err != nil {
		return nil, jsonError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is something after the end of the object", CardFile)
	}
	if err := card.Validate(); err != nil {
		if namePattern.MatchString(card.Name) {
			err = fmt.Errorf("model %s: %w", card.Name, err)
		}
		return nil, err
	}
	return &card, nil
}

// jsonError names the field when a value has the wrong JSON type.
func jsonError(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		if t.Type == reflect.TypeFor[Pair]() {
			return wrong(t.Field, "must be two numbers")
		}
		return wrong(t.Field, "is a JSON %s, which does not fit %s", t.Value, t.Type)
	}
	return fmt.Errorf("%s: not valid JSON: %w", CardFile, err)
}

// readFile reads a regular file of at most limit bytes.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, more than the %d allowed", name, info.Size(), limit)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than the %d bytes allowed", name, limit)
	}
	return data, nil
}

package catalogue

import (
	"bytes"
	_ "embed" // the data
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"deepfaked/models"
)

//go:embed catalogue.json
var data []byte

// Entry is one published detector.
type Entry struct {
	Name        string      `json:"name"` // that of its model once it is installed
	Task        models.Task `json:"task"` // one of models, or one that this version has no use for
	Description string      `json:"description"`
	Figures     []Figure    `json:"figures"` // its authors', not ours
	// Measured are the measurements on clean media that the card of its conversion has: ours,
	// of each medium. There are none where nobody here has measured it.
	Measured []models.Measurement `json:"measured,omitempty"`
	Warning  string               `json:"warning,omitempty"`  // what one should know before one uses it
	Untested bool                 `json:"untested,omitempty"` // nobody who wrote this entry has run it
	Licence  Licence              `json:"licence"`            // of the weights
	Convert  string               `json:"convert,omitempty"`  // name of the conversion that makes a model folder of the files
	Adapt    *Adaptation          `json:"adapt,omitempty"`    // of what is published as ONNX; instead of a conversion
	Files    []File               `json:"files"`
}

// Figure is what the authors state.
type Figure struct {
	Text   string `json:"text"`
	Source string `json:"source"` // address, pinned where it can be
}

// Licence is an SPDX identifier and where its text is.
type Licence struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// File is one file of a detector.
type File struct {
	Name   string `json:"name"`            // that the conversion knows it by
	Mirror string `json:"mirror"`          // path in a mirror folder, with slashes
	URL    string `json:"url"`             // pinned by commit or version
	SHA256 string `json:"sha256"`          // lower-case hex
	Bytes  int64  `json:"bytes,omitempty"` // 0: not known
}

// All returns every entry in the order of the catalogue. The error is that of a
// broken build.
func All() ([]Entry, error) {
	var all []Entry
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("read the catalogue: %w", err)
	}
	return all, nil
}

// Bytes is the size of all files together, and whether all of it is known.
func (e Entry) Bytes() (sum int64, known bool) {
	known = true
	for _, f := range e.Files {
		sum += f.Bytes
		known = known && f.Bytes > 0
	}
	return sum, known
}

// Usable says in a sentence why this version can't use the model; nil when it
// can.
func (e Entry) Usable() error {
	switch {
	case !slices.Contains(models.Tasks(), e.Task):
		return fmt.Errorf("%s can't be used by this version: its task is %s, and models judge pictures, faces, how they move, or sound, or find faces", e.Name, e.Task)
	case e.Convert == "" && e.Adapt == nil:
		return errors.New(e.Name + " can't be used by this version: nothing converts it")
	}
	return nil
}

package ort

import (
	"errors"
	"fmt"
)

// Errors of the environment and of sessions.
var (
	// ErrNoLibrary says that ONNX Runtime was not found.
	ErrNoLibrary = errors.New("ONNX Runtime was not found: run make setup or pass --onnxruntime PATH")
	// ErrOpen says that the process has an Environment already: the library
	// allows one at a time.
	ErrOpen = errors.New("ort: an environment is open already")
	// ErrClosed says that the environment or session was closed.
	ErrClosed = errors.New("ort: closed")
)

// GraphError says that an ONNX graph is not the one that its card describes.
type GraphError struct {
	Model  string
	Field  string // of the card, as it is spelt there
	Reason string // what the card says and what the graph has
}

// Error returns a sentence for the person who made the model.
func (e *GraphError) Error() string {
	return fmt.Sprintf("model %s: card.json: field %s: %s: correct the card or bring the file that it describes", e.Model, e.Field, e.Reason)
}

// GoldenError says that a model's self-test gave another number than its card
// promises.
type GoldenError struct {
	Model     string
	Batch     int // rows in the run
	Got, Want float64
	Tolerance float64
}

// Error names the model and both numbers.
func (e *GoldenError) Error() string {
	return fmt.Sprintf("model %s: card.json: field golden.output: is %g, but the self-test in a batch of %d gave %g (tolerance %g): the file is another one, computes something else here, or answers by what else is in a batch; don't use it",
		e.Model, e.Want, e.Batch, e.Got, e.Tolerance)
}

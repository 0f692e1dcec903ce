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
// promises, or that one of those behind it is not finite.
type GoldenError struct {
	Model     string
	Batch     int // rows in the run
	Index     int // of the number within its row: beyond 0, what is wrong with it is that it is not finite
	Got, Want float64
	Tolerance float64
}

// Error names the model and both numbers.
func (e *GoldenError) Error() string {
	if e.Index > 0 {
		return fmt.Sprintf("model %s: in a batch of %d %s: nothing could be judged by it, don't use it", e.Model, e.Batch, e.Clause())
	}
	return fmt.Sprintf("model %s: card.json: field golden.output: is %g, but the self-test in a batch of %d gave %g (tolerance %g): the file is another one, computes something else here, or answers by what else is in a batch; don't use it",
		e.Model, e.Want, e.Batch, e.Got, e.Tolerance)
}

// Clause is what the self-test gives and what is wanted.
func (e *GoldenError) Clause() string {
	if e.Index > 0 {
		return fmt.Sprintf("the self-test gives %g as number %d of its row, where every number must be finite", e.Got, e.Index+1)
	}
	return fmt.Sprintf("the self-test gives %g in place of %g ± %g", float32(e.Got), e.Want, e.Tolerance)
}

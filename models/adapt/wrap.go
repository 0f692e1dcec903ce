package adapt

import (
	"errors"
	"fmt"
	"math"

	"deepfaked/models"
)

// Input is the name of the input of a wrapped graph.
const Input = "deepfaked_pixels"

// Spec says what a published graph takes: [n, 3, Side, Side] of float32, each
// channel of a picture in [0, 1] less Mean, over Std, in the order RGB.
type Spec struct {
	Side int        `json:"side"`
	Mean [3]float64 `json:"mean"`
	Std  [3]float64 `json:"std"`
}

// Validate names the first field that makes no sense.
func (s Spec) Validate() error {
	if s.Side < 1 || s.Side > 4096 {
		return fmt.Errorf("side is %d, it must be between 1 and 4096", s.Side)
	}
	for c := range 3 {
		if !(s.Std[c] > 0) || math.IsNaN(s.Mean[c]) {
			return fmt.Errorf("mean and std are %g and %g, std must be positive", s.Mean, s.Std)
		}
	}
	return nil
}

// Wrap puts the normalisation before the graph, and returns it with the input
// and output that a card has to name. The graph must have one input besides its
// weights, and one output: a number a row.
func Wrap(onnx []byte, spec Spec) (wrapped []byte, input, output models.Tensor, err error) {
	if err := spec.Validate(); err != nil {
		return nil, input, output, err
	}
	model, err := split(onnx)
	if err != nil {
		return nil, input, output, err
	}
	graph, err := only(model, modelGraph)
	if err != nil {
		return nil, input, output, fmt.Errorf("the file is no ONNX model: %w", err)
	}
	old, output, err := ends(graph)
	if err != nil {
		return nil, input, output, err
	}
	whole := before(old, spec)
	for _, f := range graph {
		if f.number != graphInput || text(f.body, valueName) != old {
			whole = append(whole, f.whole...)
		}
	}
	for _, f := range model {
		if f.number != modelGraph {
			wrapped = append(wrapped, f.whole...)
		}
	}
	side := int64(spec.Side)
	return message(wrapped, modelGraph, whole), models.Tensor{Name: Input, Type: "uint8", Shape: []int64{-1, side, side, 3}}, output, nil
}

// ends returns the name of the graph's input and what it gives.
func ends(graph []field) (input string, output models.Tensor, err error) {
	weights := map[string]bool{}
	for _, f := range graph {
		if f.number == graphInitializer {
			weights[text(f.body, tensorName)] = true
		}
	}
	var inputs, outputs []field
	for _, f := range graph {
		switch {
		case f.number == graphInput && !weights[text(f.body, valueName)]:
			inputs = append(inputs, f)
		case f.number == graphOutput:
			outputs = append(outputs, f)
		}
	}
	if len(inputs) != 1 || len(outputs) != 1 {
		return "", output, fmt.Errorf("the graph has %d inputs and %d outputs, it must have one of each", len(inputs), len(outputs))
	}
	output = models.Tensor{Name: text(outputs[0].body, valueName), Type: "float32", Shape: []int64{-1, 1}}
	if rank(outputs[0].body) == 1 {
		output.Shape = output.Shape[:1]
	}
	if input = text(inputs[0].body, valueName); input == "" || output.Name == "" {
		return "", output, errors.New("the graph's input or output has no name")
	}
	return input, output, nil
}

// before is the part of a graph that makes the old input of rows of pixels.
func before(old string, spec Spec) []byte {
	var scale, shift [3]float32
	for c := range 3 {
		scale[c], shift[c] = float32(1/(255*spec.Std[c])), float32(-spec.Mean[c]/spec.Std[c])
	}
	var g []byte
	g = message(g, graphNode, node("Cast", []string{Input}, "deepfaked_float", attribute("to", typeFloat)))
	g = message(g, graphNode, node("Mul", []string{"deepfaked_float", "deepfaked_scale"}, "deepfaked_scaled", nil))
	g = message(g, graphNode, node("Add", []string{"deepfaked_scaled", "deepfaked_shift"}, "deepfaked_shifted", nil))
	g = message(g, graphNode, node("Transpose", []string{"deepfaked_shifted"}, old, attribute("perm", 0, 3, 1, 2)))
	g = message(g, graphInitializer, vector("deepfaked_scale", scale[:]))
	g = message(g, graphInitializer, vector("deepfaked_shift", shift[:]))
	side := int64(spec.Side)
	return message(g, graphInput, value(Input, typeUint8, -1, side, side, 3))
}

package ort

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// checkGraph compares what the graph takes and gives with the card.
func checkGraph(model *models.Model) error {
	card := model.Card
	elsewhere := outside(model.ONNX)
	if err := checkOutside(model, elsewhere); err != nil {
		return err
	}
	inputs, outputs, err := signature(model.ONNX, len(elsewhere) > 0)
	if err != nil {
		return fmt.Errorf("model %s: read the graph: %w", card.Name, err)
	}
	if len(inputs) != 1 {
		return &GraphError{card.Name, "input", fmt.Sprintf("speaks of one input, but the graph has %d inputs", len(inputs))}
	}
	field, reason := mismatch("input", inputs[0], card.Input)
	if reason == "" {
		field, reason = mismatch("output", named(outputs, card.Output.Name), card.Output)
	}
	if reason != "" {
		return &GraphError{card.Name, field, reason}
	}
	return nil
}

// signature is what a graph takes and gives, as ONNX Runtime finds it, or as the graph declares it
// where it has external data.
func signature(onnx []byte, external bool) (inputs, outputs []ort.InputOutputInfo, err error) {
	if external {
		inputs, outputs = declared(onnx)
		return inputs, outputs, nil
	}
	return ort.GetInputOutputInfoWithONNXData(onnx)
}

// checkOutside refuses a graph whose weights lie in a file that no checksum of the card covers.
func checkOutside(model *models.Model, elsewhere []string) error {
	card, w := model.Card, model.Card.Weights
	switch {
	case len(elsewhere) == 0:
		return nil
	case w == nil:
		return &GraphError{card.Name, "file", "names a graph whose weights lie in another file (external data), which the checksum does not cover; onnx.save with save_as_external_data=False writes both as one, or the card names the file under weights"}
	case model.Weights == "":
		return fmt.Errorf("model %s: its file of weights, %s, was not looked for", card.Name, w.File)
	}
	for _, file := range elsewhere {
		if file != w.File {
			return &GraphError{card.Name, "weights.file", fmt.Sprintf("is %q, but the graph refers to %q", w.File, file)}
		}
	}
	return nil
}

// named finds the output of a name; a graph may have others, which are not
// computed.
func named(infos []ort.InputOutputInfo, name string) ort.InputOutputInfo {
	for _, info := range infos {
		if info.Name == name {
			return info
		}
	}
	return ort.InputOutputInfo{}
}

// mismatch says in which field the card differs from a tensor of the graph, and
// how; both are empty when it does not.
func mismatch(what string, graph ort.InputOutputInfo, card models.Tensor) (field, reason string) {
	elements := map[string]ort.TensorElementDataType{
		"uint8": ort.TensorElementDataTypeUint8, "float32": ort.TensorElementDataTypeFloat,
	}
	switch {
	case graph.Name != card.Name:
		return what + ".name", fmt.Sprintf("is %q, but the graph has no %s of that name", card.Name, what)
	case graph.OrtValueType != ort.ONNXTypeTensor || graph.DataType != elements[card.Type]:
		return what + ".type", fmt.Sprintf("is %s, but the graph has %s", card.Type, graph.DataType)
	case !fits(graph.Dimensions, card.Shape):
		return what + ".shape", fmt.Sprintf("is %v, but the graph has %v", card.Shape, graph.Dimensions)
	}
	return "", ""
}

// fits reports whether the graph takes any number of rows of the card's shape.
// Dimensions that the graph leaves open (-1) take any size.
func fits(graph ort.Shape, card []int64) bool {
	if len(graph) != len(card) || graph[0] != -1 {
		return false
	}
	for i, d := range graph[1:] {
		if d != -1 && d != card[i+1] {
			return false
		}
	}
	return true
}

package ort

import (
	"fmt"

	ort "github.com/yalue/onnxruntime_go"

	"deepfaked/models"
)

// checkGraph compares what the graph takes and gives with the card.
func checkGraph(model *models.Model) error {
	card := model.Card
	inputs, outputs, err := ort.GetInputOutputInfoWithONNXData(model.ONNX)
	if err != nil {
		return fmt.Errorf("model %s: read the graph: %w", card.Name, err)
	}
	if len(inputs) != 1 {
		return &GraphError{card.Name, fmt.Sprintf("it has %d inputs, the card speaks of one", len(inputs))}
	}
	reason := mismatch("input", inputs[0], card.Input)
	if reason == "" {
		reason = mismatch("output", named(outputs, card.Output.Name), card.Output)
	}
	if reason != "" {
		return &GraphError{card.Name, reason}
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

// mismatch says how a tensor of the graph differs from the card's; empty when it
// does not.
func mismatch(what string, graph ort.InputOutputInfo, card models.Tensor) string {
	elements := map[string]ort.TensorElementDataType{
		"uint8": ort.TensorElementDataTypeUint8, "float32": ort.TensorElementDataTypeFloat,
	}
	switch {
	case graph.Name != card.Name:
		return fmt.Sprintf("it has no %s named %q", what, card.Name)
	case graph.OrtValueType != ort.ONNXTypeTensor || graph.DataType != elements[card.Type]:
		return fmt.Sprintf("%s %q is %s, the card says %s", what, card.Name, graph.DataType, card.Type)
	case !fits(graph.Dimensions, card.Shape):
		return fmt.Sprintf("%s %q has shape %v, the card says %v", what, card.Name, graph.Dimensions, card.Shape)
	}
	return ""
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

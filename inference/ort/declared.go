package ort

import (
	"slices"

	ort "github.com/yalue/onnxruntime_go"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of onnx.proto by which a graph says what it takes and gives.
const (
	modelGraph       = 7
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	tensorName       = 8
)

// declared is what the graph of an ONNX file says that it takes, but for initializers, and gives.
// ONNX Runtime can be asked only of what needs no other file.
func declared(onnx []byte) (inputs, outputs []ort.InputOutputInfo) {
	var initialized []string
	fields(onnx, func(number protowire.Number, kind protowire.Type, graph []byte) {
		if number != modelGraph || kind != protowire.BytesType {
			return
		}
		fields(graph, func(number protowire.Number, kind protowire.Type, value []byte) {
			switch {
			case kind != protowire.BytesType:
			case number == graphInput:
				inputs = append(inputs, info(value))
			case number == graphOutput:
				outputs = append(outputs, info(value))
			case number == graphInitializer:
				initialized = append(initialized, textOf(value, tensorName))
			}
		})
	})
	inputs = slices.DeleteFunc(inputs, func(i ort.InputOutputInfo) bool { return slices.Contains(initialized, i.Name) })
	return inputs, outputs
}

// info reads a ValueInfoProto: name, and of a tensor type and shape.
func info(value []byte) ort.InputOutputInfo {
	found := ort.InputOutputInfo{Name: textOf(value, 1)}
	tensor := inner(inner(value, 2), 1) // TypeProto, TypeProto.Tensor
	fields(tensor, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == 1 && kind == protowire.VarintType {
			n, _ := protowire.ConsumeVarint(value)
			found.OrtValueType = ort.ONNXTypeTensor
			found.DataType = ort.TensorElementDataType(n) //nolint:gosec // G115: what is too large is none that a card may name
		}
	})
	fields(inner(tensor, 2), func(number protowire.Number, kind protowire.Type, dimension []byte) {
		if number == 1 && kind == protowire.BytesType {
			found.Dimensions = append(found.Dimensions, size(dimension))
		}
	})
	return found
}

// size is that of a dimension, -1 where any will do.
func size(dimension []byte) int64 {
	n := int64(-1)
	fields(dimension, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == 1 && kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(value)
			n = int64(v) //nolint:gosec // G115: as the format has it
		}
	})
	return n
}

// inner is what a field of a message holds, the last where there are several.
func inner(message []byte, field protowire.Number) (found []byte) {
	fields(message, func(number protowire.Number, kind protowire.Type, value []byte) {
		if number == field && kind == protowire.BytesType {
			found = value
		}
	})
	return found
}

func textOf(message []byte, field protowire.Number) string { return string(inner(message, field)) }

package ort

import "google.golang.org/protobuf/encoding/protowire"

// part is a message of onnx.proto in which tensors may lie.
type part int

const (
	aModel part = iota
	aTraining
	aGraph
	aFunction
	aNode
	anAttribute
	aSparse
	aTensor
)

// parts are the fields of a part that lead on to tensors. Their numbers belong to the
// format and never change.
var parts = [...]map[protowire.Number]part{
	aModel:      {7: aGraph, 20: aTraining, 25: aFunction},
	aTraining:   {1: aGraph, 2: aGraph},
	aGraph:      {1: aNode, 5: aTensor, 15: aSparse},
	aFunction:   {7: aNode, 11: anAttribute},
	aNode:       {5: anAttribute},
	anAttribute: {5: aTensor, 6: aGraph, 10: aTensor, 11: aGraph, 22: aSparse, 23: aSparse},
	aSparse:     {1: aTensor, 2: aTensor},
	aTensor:     {},
}

// Fields of a tensor whose numbers are in another file.
const (
	externalData = 13
	dataLocation = 14 // 0, or not there, where they are in the tensor
)

// deepest is how many messages within each other ONNX Runtime reads: it refuses more.
const deepest = 100

// outside says whether a tensor of an ONNX file has its numbers in another one. No checksum of a
// card covers that, and ONNX Runtime, which gets the bytes alone, looks for it in the folder
// that the process happens to run in. Of what is no ONNX file it says no.
func outside(onnx []byte) bool { return leadsOut(onnx, aModel, 0) }

func leadsOut(message []byte, of part, depth int) bool {
	for len(message) > 0 && depth <= deepest {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return false
		}
		n := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if n < 0 {
			return false
		}
		value := message[tag : tag+n]
		if of == aTensor && refers(number, kind, value) {
			return true
		}
		if inner, ok := parts[of][number]; ok && kind == protowire.BytesType {
			body, _ := protowire.ConsumeBytes(value)
			if leadsOut(body, inner, depth+1) {
				return true
			}
		}
		message = message[tag+n:]
	}
	return false
}

// refers says whether a field of a tensor refers to another file.
func refers(number protowire.Number, kind protowire.Type, value []byte) bool {
	if number == dataLocation && kind == protowire.VarintType {
		location, _ := protowire.ConsumeVarint(value)
		return location != 0
	}
	return number == externalData && kind == protowire.BytesType
}

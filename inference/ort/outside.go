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

// outside lists the files that tensors of an ONNX file have their numbers in. ONNX Runtime, which gets the bytes
// alone, would look for them in the folder that the process happens to run in. Of what is no ONNX
// file it lists none.
func outside(onnx []byte) []string {
	var found files
	found.within(onnx, aModel, 0)
	return found
}

// files collects names of files.
type files []string

func (f *files) within(message []byte, of part, depth int) {
	if depth > deepest {
		return
	}
	if of == aTensor {
		*f = append(*f, locations(message)...)
		return
	}
	fields(message, func(number protowire.Number, kind protowire.Type, value []byte) {
		if inner, ok := parts[of][number]; ok && kind == protowire.BytesType {
			f.within(value, inner, depth+1)
		}
	})
}

// locations are the files that a tensor says that it has its numbers in: one, as it should be, or
// several, or an empty name where it says that they are elsewhere. There are none where they are in
// the tensor itself.
func locations(tensor []byte) (named []string) {
	elsewhere := false
	fields(tensor, func(number protowire.Number, kind protowire.Type, value []byte) {
		switch {
		case number == dataLocation && kind == protowire.VarintType:
			n, _ := protowire.ConsumeVarint(value)
			elsewhere = elsewhere || n != 0
		case number == externalData && kind == protowire.BytesType:
			elsewhere = true
			if key, text := entry(value); key == "location" {
				named = append(named, text)
			}
		}
	})
	if elsewhere && len(named) == 0 {
		return []string{""}
	}
	return named
}

// entry reads a StringStringEntryProto.
func entry(message []byte) (key, value string) {
	fields(message, func(number protowire.Number, kind protowire.Type, text []byte) {
		switch {
		case kind != protowire.BytesType:
		case number == 1:
			key = string(text)
		case number == 2:
			value = string(text)
		}
	})
	return key, value
}

// fields hands on the fields of a message, as far as it is one: of those with a length what is in
// them, of the others their encoding.
func fields(message []byte, each func(number protowire.Number, kind protowire.Type, value []byte)) {
	for len(message) > 0 {
		number, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return
		}
		n := protowire.ConsumeFieldValue(number, kind, message[tag:])
		if n < 0 {
			return
		}
		value := message[tag : tag+n]
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(value)
		}
		each(number, kind, value)
		message = message[tag+n:]
	}
}

// Package adapt makes the ONNX file of a published picture model take what the
// service gives its models: rows of bytes, normalised in the graph.
package adapt

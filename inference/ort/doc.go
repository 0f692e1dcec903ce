// Package ort runs models with ONNX Runtime. It is the only package that knows
// the library: an Environment loads it, a Session is one model ready to run,
// and neither lets a C type out.
package ort

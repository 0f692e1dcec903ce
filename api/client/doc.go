// Package client calls the detection service. It needs nothing besides the
// standard library.
package client

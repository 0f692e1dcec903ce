// Package preprocess turns an uploaded file into pixels and samples, safely.
//
// It holds the vocabulary of media (kinds, frames, windows, limits), recognises
// a file by its first bytes, checks what it declares against the limits in pure
// Go, and hands it to a decoder child process: the server itself never parses
// media in C.
package preprocess

// Package convert carries the scripts beside it, which make model folders of
// published detectors, into the binary.
package convert

import "embed"

// Files are the scripts and what they read, under their names in this folder.
//
//go:embed *.py measured.json requirements.txt
var Files embed.FS

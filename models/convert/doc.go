// Package convert runs the conversion scripts in a Python environment of their
// own, whose packages are pinned.
package convert

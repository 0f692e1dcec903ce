package fetch

import (
	"errors"
	"fmt"
	"net/http"
)

// ErrNoNetwork says that a host could not be reached at all.
var ErrNoNetwork = errors.New("could not be reached: connect this machine to the network, or take the file from a mirror")

// ChecksumError says that a file is not the one that was asked for.
type ChecksumError struct {
	From      string // address or path
	Got, Want string // SHA-256
}

// Error says what was expected, and that nothing of it is used.
func (e *ChecksumError) Error() string {
	return fmt.Sprintf("%s has SHA-256 %s instead of %s: it was changed or damaged on its way, and is not used", e.From, e.Got, e.Want)
}

// StatusError is an answer that brings no file.
type StatusError struct {
	URL    string
	Status int
}

// Error names the address and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s answered %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// errCut says that an answer ended early; what came is kept.
var errCut = errors.New("the connection was cut or stood still before the end of the file; the same command goes on where it stopped")

// errRange says that a server did not go on where it was asked to.
var errRange = fmt.Errorf("the server can't go on with a part of the file: %w", errCut)

package preprocess

import "errors"

// ErrOutputFull means that a file within the limits yields more pixels and
// samples than PoolOptions.OutputBytes. That is the service's fault.
var ErrOutputFull = errors.New("decoder: the output is too small for what the limits allow")

// Code is the contract's name for what is wrong with an upload.
type Code string

// The codes that a file can earn.
const (
	EmptyFile            Code = "empty_file"
	PayloadTooLarge      Code = "payload_too_large"
	UnsupportedMediaType Code = "unsupported_media_type"
	ContentTypeMismatch  Code = "content_type_mismatch"
)

// Error is the client's fault: the file, not the service. Message is one
// sentence that is safe to show.
type Error struct {
	Code    Code
	Message string
	Err     error // what lay beneath, for the log; may be nil
}

// Error returns the message and its cause.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

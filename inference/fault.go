package inference

import (
	"context"
	"errors"

	"deepfaked/preprocess"
)

// FaultError says that an analysis failed, and neither its file nor its caller nor too
// much work is known to be to blame: the engine may be.
type FaultError struct {
	Err error
	Out bool // it is: the engine was failing its own test when the analysis began
}

// Error is that of what went wrong.
func (e *FaultError) Error() string { return e.Err.Error() }

// Unwrap leads to what went wrong.
func (e *FaultError) Unwrap() error { return e.Err }

// ErrTooLong says that a file takes longer than its deadline leaves, with nothing else to
// be done: to try again later would end in the same way.
var ErrTooLong = errors.New("the analysis would take too long")

// fault marks an error that nobody else is to blame for. Rows that were refused behind
// those of their own file were not refused for too much work.
func (d *Detector) fault(ctx context.Context, req Request, err error) error {
	_, media := errors.AsType[*preprocess.Error](err)
	_, saturated := errors.AsType[*SaturatedError](err)
	switch {
	case saturated && d.gate.alone(req):
		return ErrTooLong
	case saturated, media, ctx.Err() != nil, errors.Is(err, ErrClosed), errors.Is(err, preprocess.ErrPoolClosed):
		return err
	}
	return &FaultError{Err: err}
}

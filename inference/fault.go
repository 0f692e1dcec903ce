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

// fault marks an error that nobody else is to blame for.
func fault(ctx context.Context, err error) error {
	media, saturated := (*preprocess.Error)(nil), (*SaturatedError)(nil)
	if ctx.Err() != nil || errors.As(err, &media) || errors.As(err, &saturated) || errors.Is(err, ErrClosed) || errors.Is(err, preprocess.ErrPoolClosed) {
		return err
	}
	return &FaultError{Err: err}
}

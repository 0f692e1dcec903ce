package preprocess

import (
	"errors"
	"fmt"

	"deepfaked/internal/sandbox"
)

// lostError means that a child died of a file, or at the same time: memory may
// have run out, or somebody have killed it.
type lostError struct {
	cause    error
	innocent bool // it matches errKilled: the file is not known to be to blame
}

func (e *lostError) Error() string { return e.cause.Error() }

// errKilled says what has probably happened to a small child that was killed.
var errKilled = errors.New("a child was killed, and not by this service, although it had taken little memory: " +
	"the machine or its container has probably run out of it (give it more, or run fewer decoders: decoder.children)")

// again is the error of a file that has cost a child, and err was what came of it with
// another. Twice is no accident, unless one of them was killed for want of memory that
// others have taken: that is no verdict on the file.
func (e *lostError) again(format Format, err error) error {
	second, lost := errors.AsType[*lostError](err)
	switch {
	case !lost:
		return err
	case second.innocent:
		return fmt.Errorf("decoder: %w", second.cause)
	case e.innocent:
		return fmt.Errorf("decoder: %w", e.cause)
	}
	return unsafeFile(format, second.cause)
}

// lost tells the operator, and the pool.
func (w *worker) lost(req DecodeRequest, err error) error {
	innocent := w.killedSmall()
	if innocent {
		err = fmt.Errorf("%w: %w", errKilled, err)
	}
	w.opts.Logger.Warn("a decoder child was lost", "format", string(req.Format), "bytes", req.Size, "error", err)
	return &lostError{err, innocent}
}

// smallPart is the part of the memory that a child is bounded by which a small one
// takes at most: 1 GiB by default, where an idle one has 75 MiB.
const smallPart = 8

// killedSmall says that the child was killed by somebody else, most likely by the kernel,
// which takes children first when memory runs out, and that it was small, or had no more
// than the server, since less than that is not told of any (Child.Peak).
func (w *worker) killedSmall() bool {
	select {
	case <-w.Done():
		peak := w.Peak()
		return w.KilledFromOutside() && peak > 0 && peak <= max(w.opts.MemoryBytes/smallPart, sandbox.OwnPeak())
	default:
		return false
	}
}

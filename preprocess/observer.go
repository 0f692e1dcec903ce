package preprocess

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"deepfaked/internal/sandbox"
)

// Observer is told what a Pool does. Decodes call it, many at once, and wait for
// it: it must be quick and must not block.
type Observer interface {
	// Decoded is told of every file that a child has worked on, whatever came of
	// it: how long it waited for the child, and how long that took.
	Decoded(waited, took time.Duration)
	// Lost is told why a child is not used any more. Children that have served
	// enough files are not lost.
	Lost(why Loss)
}

// Loss says how a child was lost.
type Loss string

// The ways in which children are lost.
const (
	LostIdle     Loss = "idle"     // it died without a file, or worked without one
	LostTimeout  Loss = "timeout"  // killed: it took too long
	LostCanceled Loss = "canceled" // killed: nobody wants its answer any more
	LostCPU      Loss = "cpu"      // its processor time was used up
	LostMemory   Loss = "memory"   // it could not get as much as it wanted, or said so
	LostCrash    Loss = "crash"
	LostKilled   Loss = "killed"  // by the kernel, which had no memory left, or by somebody
	LostExit     Loss = "exit"    // it ended by itself
	LostReply    Loss = "reply"   // killed: what it answered can't be
	LostGaveUp   Loss = "gave_up" // it said that it can't go on
)

// decoded tells the observer of an exchange that began and got its child at
// these moments.
func (p *Pool) decoded(began, got time.Time) {
	if p.opts.Observer != nil {
		p.opts.Observer.Decoded(got.Sub(began), time.Since(got))
	}
}

// lost tells the observer of a child.
func (o PoolOptions) lost(why Loss) {
	if o.Observer != nil {
		o.Observer.Lost(why)
	}
}

// leaving is how a child was lost that has answered all the same.
func leaving(reply *DecodeReply) Loss {
	switch {
	case !reply.Leaving:
		return LostCanceled
	case outOfMemory.MatchString(reply.Cause):
		return LostMemory
	}
	return LostGaveUp
}

// cause finds how a child was lost that answered with err and has been ended.
func (w *worker) cause(ctx context.Context, err error) Loss {
	switch {
	case ctx.Err() != nil:
		return LostCanceled
	case errors.Is(err, os.ErrDeadlineExceeded):
		return LostTimeout
	case !errors.Is(err, io.EOF):
		return LostReply
	}
	select {
	case <-w.Done():
		return ended(w.Err(), w.Stderr())
	default:
		return LostReply // it hung up and had to be killed
	}
}

// ended reads how a child went by itself from its status and last words.
func ended(err error, said string) Loss {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return LostExit
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch {
	case errors.Is(err, sandbox.ErrFlood):
		return LostCrash // by no fault of the machine
	case status.ExitStatus() == sandbox.ExitCPU:
		return LostCPU
	case outOfMemory.MatchString(said):
		return LostMemory
	case status.Signal() == syscall.SIGKILL:
		return LostKilled
	case status.Signaled(), status.ExitStatus() == exitCrash:
		return LostCrash
	}
	return LostExit
}

// exitCrash is how the Go runtime ends a process that it can't go on with, after
// signals such as SIGSEGV too.
const exitCrash = 2

// outOfMemory are the last words of the Go runtime, of C++, of libc and of OpenCV, and the cause of a reply.
var outOfMemory = regexp.MustCompile(`out of memory|bad_alloc|annot allocate memory|nsufficient memory`)

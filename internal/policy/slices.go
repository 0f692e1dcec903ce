package policy

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// stretch is for how long what computes has its processor, where others that compute or
// wait without haste want it too: longer than most runs of a batch.
const stretch = 20 * time.Millisecond

// Computing gives the calling goroutine's thread long time slices until done is called by the
// same goroutine, so that what has interrupted a computation is not interrupted by it in turn,
// and leaves it the caches. It does nothing in a process without Batch, or where the kernel has
// no slices by thread (before Linux 6.12): policies alone were measured there. It is safe for
// concurrent use. See sched_setattr(2).
func Computing() (done func()) {
	return during(unix.SchedAttr{Policy: unix.SCHED_BATCH, Runtime: uint64(stretch)})
}

// Prompt exempts the calling goroutine's thread, and the children that it starts meanwhile, from
// Batch until done is called by the same goroutine: they may interrupt what computes. It is for
// what is brief and awaited by many. It does nothing where Computing doesn't, and is safe for
// concurrent use.
func Prompt() (done func()) {
	return during(unix.SchedAttr{Policy: unix.SCHED_NORMAL})
}

// during has the thread treated so until done, and the goroutine stay on it. One whose policy is
// not Batch's has it from an operator.
func during(so unix.SchedAttr) (done func()) {
	runtime.LockOSThread()
	was, err := unix.SchedGetAttr(0, 0)
	if err == nil && was.Policy == unix.SCHED_BATCH && was.Runtime > 0 {
		so.Nice = was.Nice
		if unix.SchedSetAttr(0, &so, 0) == nil {
			return func() {
				_ = unix.SchedSetAttr(0, was, 0) // what was allowed once is allowed again
				runtime.UnlockOSThread()
			}
		}
	}
	runtime.UnlockOSThread()
	return func() {}
}

package policy

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The time slices of threads that compute and of all others.
const (
	long  = 3 * time.Millisecond
	short = 200 * time.Microsecond
)

// errNoSlices says that the kernel knows no time slices of a thread's own.
var errNoSlices = errors.New("set the time slice of a thread: the kernel has none of a thread's own before Linux 6.12")

// Compute gives the calling thread, which must be locked to its goroutine, and those that it
// starts the policy SCHED_BATCH and long time slices. Where the kernel has no such slices
// the policy is all. It needs no privilege; the error says what a container forbids.
func Compute() error {
	if err := setSlice(0, unix.SCHED_BATCH, long); err != nil {
		return fmt.Errorf("set the scheduling policy of a thread: %w", err)
	}
	return nil
}

// Prompt gives all threads of this process but those of Compute, those to come and its
// children to come short time slices: one that wakes up interrupts one that computes
// (PREEMPT_SHORT of the kernel's EEVDF scheduler), which has its share of the processor all
// the same. Where the kernel has no slices of a thread's own it does what Batch does.
// It is safe for concurrent use.
func Prompt() error {
	err := each(promptThread)
	if errors.Is(err, errNoSlices) {
		return Batch()
	}
	return err
}

func promptThread(id int) (changed bool, err error) {
	old, err := unix.SchedGetAttr(id, 0)
	if err != nil || old.Policy != unix.SCHED_NORMAL || sliceOf(old) == short {
		return false, err
	}
	if err := setSlice(id, unix.SCHED_NORMAL, short); err != nil {
		return false, err
	}
	now, err := unix.SchedGetAttr(id, 0)
	if err == nil && sliceOf(now) != short {
		err = errNoSlices
	}
	return true, err
}

func sliceOf(a *unix.SchedAttr) time.Duration { return time.Duration(a.Runtime) } //nolint:gosec // 100 ms at most

// setSlice keeps the niceness of a thread.
func setSlice(id int, policy uint32, slice time.Duration) error {
	old, err := unix.SchedGetAttr(id, 0)
	if err != nil {
		return err
	}
	return unix.SchedSetAttr(id, &unix.SchedAttr{Policy: policy, Nice: old.Nice, Runtime: uint64(slice)}, 0) //nolint:gosec // positive
}

package policy

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Batch gives all threads of this process, those to come and its children to come
// the policy SCHED_BATCH: one that wakes up does not interrupt one that computes,
// but waits for a free processor or for the end of a time slice, a few
// milliseconds. Shares and niceness stay. It is for a process that computes on all
// processors and whose many short tasks would otherwise empty the caches of the long
// ones. It needs no privilege; the error says what a container forbids. See
// sched(7). It is safe for concurrent use.
func Batch() error {
	for range passes {
		changed, err := batchThreads()
		if err != nil || !changed {
			return err
		}
	}
	return errors.New("set the scheduling policy: the threads keep theirs, or never cease to start others")
}

// passes are more than it takes to meet the threads that were started on the way.
const passes = 32

// batchThreads goes through the threads once: one that has not been changed yet may
// have started another meanwhile.
func batchThreads() (changed bool, err error) {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false, fmt.Errorf("list the threads: %w", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return false, fmt.Errorf("list the threads: %w", err)
		}
		one, err := batchThread(id)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return false, fmt.Errorf("set the scheduling policy of a thread: %w", err)
		}
		changed = changed || one
	}
	return changed, nil
}

// batchThread leaves alone what an operator has given another policy, such as a
// real-time one.
func batchThread(id int) (changed bool, err error) {
	old, err := unix.SchedGetAttr(id, 0)
	if err != nil || old.Policy != unix.SCHED_NORMAL {
		return false, err
	}
	return true, unix.SchedSetAttr(id, &unix.SchedAttr{Policy: unix.SCHED_BATCH, Nice: old.Nice}, 0)
}

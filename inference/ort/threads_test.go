package ort

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestThreadsOfASession: those that a session computes with beside the caller's are the
// library's, and nobody else could tell them how the kernel is to treat them.
func TestThreadsOfASession(t *testing.T) { //nolint:paralleltest // it counts the process's threads
	const threads = 4
	treated := func() (n int) {
		all, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range all {
			id, err := strconv.Atoi(thread.Name())
			if err != nil {
				t.Fatal(err)
			}
			if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_BATCH {
				n++
			}
		}
		return n
	}
	env := openEnvironment(t, func(o *Options) {
		o.Provider, o.IntraOpThreads = CPU, threads
		o.OnThread = func() {
			if err := unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_BATCH}, 0); err != nil {
				t.Error(err)
			}
		}
	})
	before := treated()
	newTestSession(t, env, bytesModel(t), 1)
	if n := treated() - before; n < threads-1 {
		t.Errorf("%d threads are treated like the one that made the session, want %d", n, threads-1)
	}
}

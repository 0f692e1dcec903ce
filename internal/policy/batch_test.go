package policy

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Every thread is meant, whoever started it and whenever, and children too; a single
// one left would go on to interrupt the others. Niceness stays.
func TestBatch(t *testing.T) { //nolint:paralleltest // it changes the process
	require.NoError(t, unix.Setpriority(unix.PRIO_PROCESS, 0, 3))
	require.NoError(t, Batch())
	var group sync.WaitGroup
	var started, all sync.WaitGroup
	started.Add(8)
	all.Add(1)
	for range 8 {
		group.Go(func() {
			runtime.LockOSThread() // one thread each, all at once, most of them new
			started.Done()
			all.Wait()
			a, err := unix.SchedGetAttr(0, 0)
			assert.NoError(t, err)
			assert.EqualValues(t, unix.SCHED_BATCH, a.Policy)
		})
	}
	started.Wait()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	nice := map[int32]bool{}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		a, err := unix.SchedGetAttr(id, 0)
		require.NoError(t, err)
		assert.EqualValues(t, unix.SCHED_BATCH, a.Policy, "of %d threads", len(threads))
		nice[a.Nice] = true
	}
	assert.Contains(t, nice, int32(3))
	all.Done()
	group.Wait()
	assert.Equal(t, strconv.Itoa(unix.SCHED_BATCH), policyOfChild(t))

	// A policy that an operator has chosen for a thread is his.
	onItsOwnThread(t, func() {
		assert.NoError(t, unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0))
		assert.NoError(t, Batch())
		assert.EqualValues(t, unix.SCHED_IDLE, attributes(t).Policy)
	})
}

package policy

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// alone says that the test has the process for itself.
const alone = "DEEPFAKED_TEST_ALONE"

// TestPrompt: with SCHED_BATCH for all, what woke up beside runs on every processor, a
// handler or a decoder, waited for the end of a time slice, at each of its steps anew.
func TestPrompt(t *testing.T) { //nolint:paralleltest // it changes the process
	if os.Getenv(alone) == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPrompt$")
		child.Env = append(os.Environ(), alone+"=1")
		told, err := child.CombinedOutput()
		require.NoError(t, err, string(told))
		return
	}
	require.NoError(t, each(func(id int) (bool, error) { // TestBatch may have been before, and children are as it left that
		old, err := unix.SchedGetAttr(id, 0)
		return old.Policy != unix.SCHED_NORMAL, errors.Join(err, unix.SchedSetAttr(id, &unix.SchedAttr{Nice: old.Nice}, 0))
	}))
	require.NoError(t, unix.Setpriority(unix.PRIO_PROCESS, 0, 3)) // of this thread
	computing, done := make(chan int), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		assert.NoError(t, Compute())
		computing <- unix.Gettid()
		<-done
	}()
	defer close(done)
	runs := <-computing
	of := func(id int) (uint32, time.Duration) {
		a, err := unix.SchedGetAttr(id, 0)
		require.NoError(t, err)
		return a.Policy, sliceOf(a)
	}
	_, had := of(runs)
	policy, slice := uint32(unix.SCHED_NORMAL), short
	if had != long {
		t.Log("this kernel has no time slices of a thread's own")
		policy, slice = unix.SCHED_BATCH, had
	}

	require.NoError(t, Prompt())
	beside := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, beside.Start())
	got, its := of(beside.Process.Pid)
	assert.Equal(t, policy, got, "of a child")
	assert.Equal(t, slice, its, "of a child")
	_ = beside.Process.Kill()
	_ = beside.Wait()
	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	nice := map[int32]bool{}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		require.NoError(t, err)
		a, err := unix.SchedGetAttr(id, 0)
		require.NoError(t, err)
		nice[a.Nice] = true
		if id == runs {
			assert.EqualValues(t, unix.SCHED_BATCH, a.Policy)
			assert.Equal(t, had, sliceOf(a))
			continue
		}
		assert.Equal(t, policy, a.Policy)
		assert.Equal(t, slice, sliceOf(a))
	}
	assert.Greater(t, len(threads), 2)
	assert.Contains(t, nice, int32(3))
}

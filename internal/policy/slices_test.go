package policy

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// While all threads had the policy of those that compute, a decoder and the transaction that
// everybody waited for stood behind runs for some milliseconds each: those that are brief go
// first now. A thread is treated so for as long as was said, then as before.
func TestForTheTimeBeing(t *testing.T) { //nolint:paralleltest // it changes the process
	require.NoError(t, Batch())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := attributes(t)
	if before.Runtime == 0 {
		t.Skip("this kernel has no time slices by thread, which is Linux 6.12 and later")
	}
	require.EqualValues(t, unix.SCHED_BATCH, before.Policy)

	done := Computing()
	a := attributes(t)
	assert.EqualValues(t, unix.SCHED_BATCH, a.Policy)
	assert.EqualValues(t, stretch, a.Runtime)
	assert.Equal(t, before.Nice, a.Nice)
	done()
	assert.Equal(t, before, attributes(t))

	done = Prompt()
	assert.EqualValues(t, unix.SCHED_NORMAL, attributes(t).Policy)
	assert.Equal(t, before.Nice, attributes(t).Nice)
	assert.Equal(t, strconv.Itoa(unix.SCHED_NORMAL), policyOfChild(t))
	done()
	assert.Equal(t, before, attributes(t))
	assert.Equal(t, strconv.Itoa(unix.SCHED_BATCH), policyOfChild(t))
}

// What an operator has chosen for the process stays as he chose it: he may have given it to
// processes that have nothing better to do.
func TestNotForWhatOthersChose(t *testing.T) { //nolint:paralleltest // it changes the process
	onItsOwnThread(t, func() {
		assert.NoError(t, unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_IDLE}, 0))
		for _, begin := range []func() func(){Computing, Prompt} {
			done := begin()
			assert.EqualValues(t, unix.SCHED_IDLE, attributes(t).Policy)
			done()
			assert.EqualValues(t, unix.SCHED_IDLE, attributes(t).Policy)
		}
	})
}

// onItsOwnThread runs fn on a thread that is gone when it returns, with whatever was done to it.
func onItsOwnThread(t *testing.T, fn func()) {
	t.Helper()
	thread := make(chan int)
	var begin func()
	begin = func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first one never ends: it is held while another is found
			go begin()
			id := <-thread
			runtime.UnlockOSThread()
			thread <- id
			return
		}
		fn()
		thread <- unix.Gettid()
	}
	go begin()
	task := filepath.Join("/proc/self/task", strconv.Itoa(<-thread))
	require.Eventually(t, func() bool {
		_, err := os.Stat(task)
		return errors.Is(err, fs.ErrNotExist)
	}, time.Minute, time.Millisecond)
}

// attributes of the thread that the test runs on.
func attributes(t *testing.T) *unix.SchedAttr {
	t.Helper()
	a, err := unix.SchedGetAttr(0, 0)
	assert.NoError(t, err)
	return a
}

// policyOfChild is the 41st number of a process's stat, proc_pid_stat(5).
func policyOfChild(t *testing.T) string {
	t.Helper()
	stat, err := exec.CommandContext(t.Context(), "cat", "/proc/self/stat").Output()
	require.NoError(t, err)
	return strings.Fields(string(stat))[40]
}

package sandbox

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/policy"
)

// A decoder that was handed a file stood behind the models' runs for a time slice each time
// that it woke up, as all threads of the service do that brought it up.
func TestChildrenNeedNotWaitForRuns(t *testing.T) { //nolint:paralleltest // it changes the process
	require.NoError(t, policy.Batch())
	c := started(t, testOptions("spin"))
	a, err := unix.SchedGetAttr(c.cmd.Process.Pid, 0)
	require.NoError(t, err)
	if a.Runtime == 0 {
		t.Skip("this kernel has no time slices by thread, which is Linux 6.12 and later")
	}
	assert.EqualValues(t, unix.SCHED_NORMAL, a.Policy)
}

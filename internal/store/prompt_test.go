package store

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"deepfaked/internal/policy"
)

// The one that writes stood behind the models' runs for a time slice whenever it woke up, and
// all other writers behind it.
func TestWhoWritesNeedNotWaitForRuns(t *testing.T) { //nolint:paralleltest // it changes the process
	require.NoError(t, policy.Batch())
	s := open(t, t.TempDir())
	var a *unix.SchedAttr
	require.NoError(t, s.Write(t.Context(), func(*Tx) (err error) {
		a, err = unix.SchedGetAttr(0, 0)
		return err
	}))
	if a.Runtime == 0 {
		t.Skip("this kernel has no time slices by thread, which is Linux 6.12 and later")
	}
	assert.EqualValues(t, unix.SCHED_NORMAL, a.Policy)
}

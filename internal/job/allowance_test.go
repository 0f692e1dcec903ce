package job

import (
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/store"
)

func TestAllowance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, over := time.Now(), make(chan time.Duration, 9)
		a := allow(step/2, func() { over <- time.Since(began) })
		assert.Equal(t, step/2, <-over, "less than a step")
		a.reset(10 * step)
		<-time.After(5 * step)
		a.reset(5 * step / 2)
		assert.Equal(t, step/2+5*step+5*step/2, <-over)
		a.reset(2 * step)
		<-time.After(3 * step / 2)
		a.stop()
		a.stop()
		<-time.After(time.Hour)
		assert.Empty(t, over)
	})
}

// A process that was suspended for longer than the deadline, with no other to take up its jobs, failed all that
// were running for good, as analyses that had taken too long.
func TestSuspendedForLongerThanTheDeadline(t *testing.T) {
	t.Parallel()
	w := onSQLite(t)
	s := suspend(t, w, "nap")
	<-time.After(victims("nap").Deadline + time.Second)
	require.NoError(t, s.process.Signal(syscall.SIGCONT))
	<-time.After(step / 4) // a timer that is due has struck
	require.NoError(t, s.input.Close())
	books, err := store.Open(t.Context(), w.data, store.DefaultOptions())
	require.NoError(t, err)
	defer func() { assert.NoError(t, books.Close()) }()
	var state account.State
	require.Eventually(t, func() bool {
		err := books.Reader().QueryRowContext(t.Context(), `SELECT state FROM detections WHERE id = $1`, s.job).Scan(&state)
		return assert.NoError(t, err) && state != account.Processing
	}, patience, 5*time.Millisecond)
	assert.Equal(t, account.Complete, state)
}

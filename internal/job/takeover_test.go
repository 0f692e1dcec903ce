package job

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/store"
)

// suspended is a process that stands still in the middle of a job, which ends after its
// input does.
type suspended struct {
	process *os.Process
	input   io.Closer
	job     string
}

// suspend starts a victim and stops it once it has begun its job.
func suspend(t *testing.T, w where, does string) suspended {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimData+"="+w.data, victimDatabase+"="+w.database, victimDoes+"="+does)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait())
	})
	said := map[bool]string{}
	for lines := bufio.NewScanner(out); len(said) < 2 && lines.Scan(); {
		said[lines.Text() == "begun"] = lines.Text()
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGSTOP))
	return suspended{cmd.Process, input, said[false]}
}

// A process that is suspended in the middle of a job wakes up when another one has
// the job, and fails it: that one decides, and the job is counted once.
func TestSuspendedProcess(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	s := suspend(t, w, "stall")

	begun, finish := make(chan struct{}, 9), make(chan struct{})
	f := setup(t, w, func(ctx context.Context, r inference.Request) (inference.Result, error) {
		begun <- struct{}{}
		<-finish
		return good(ctx, r)
	}, options(1))
	letFinish := sync.OnceFunc(func() { close(finish) })
	t.Cleanup(letFinish)
	f.inherit()
	<-begun
	require.NoError(t, s.process.Signal(syscall.SIGCONT))
	require.NoError(t, s.input.Close())
	require.Eventually(t, func() bool { return f.state() == "scheduled" }, patience, 5*time.Millisecond, "the other one has come to its end")
	d, err := f.ledger.Detection(t.Context(), f.account, s.job)
	require.NoError(t, err)
	assert.Equal(t, account.Processing, d.State)
	letFinish()
	assert.Equal(t, account.Complete, f.ended(s.job).State)
	f.used(1)
	f.empty()
}

// A process that was cut off may fetch a job before it has said that it is back. Another one
// took the job away, at the cost of an attempt: at the last one it was given up while it ran.
func TestJobsFetchedAfterASilence(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	opts := options(0)
	opts.Attempts = 1
	back, heir := setup(t, w, good, opts), setup(t, w, good, opts)
	before := back.submit(1)[0]
	back.fetch(1)
	back.fetchedLongAgo(before)
	after := back.submit(1)[0]
	back.fetch(1)
	require.NoError(t, back.process.Leave()) // to the others it is silent
	stateOf := func(id string) account.State {
		require.NoError(t, heir.jobs.Recover(t.Context()))
		d, err := heir.ledger.Detection(t.Context(), heir.account, id)
		require.NoError(t, err)
		return d.State
	}
	for deadline := time.Now().Add(patience); stateOf(before) == account.Processing && time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		require.NoError(t, back.books.Write(t.Context(), func(tx *store.Tx) error {
			_, err := tx.ExecContext(t.Context(), `UPDATE river_job SET attempted_at = clock_timestamp() WHERE args->>'id' = $1`, after)
			return err
		}))
	}
	assert.Equal(t, account.Failed, stateOf(before))
	assert.Equal(t, account.Processing, stateOf(after))
	require.Eventually(t, func() bool { return stateOf(after) == account.Failed }, patience, 10*time.Millisecond, "its silence is long enough")
}

// state is that of the one job in the queue.
func (f *fixture) state() (s string) {
	f.t.Helper()
	require.NoError(f.t, f.books.Reader().QueryRowContext(f.t.Context(), `SELECT state FROM river_job`).Scan(&s))
	return s
}

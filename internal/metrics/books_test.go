package metrics

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/store"
)

// Every submission that found the queue of jobs full was counted as an error of the
// books, and so was a job that another process had ended: who watched for a broken
// database was told of a busy service.
func TestWhatIsNoErrorOfTheBooks(t *testing.T) {
	t.Parallel()
	m := New()
	s, err := store.Open(t.Context(), t.TempDir(), store.DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	ledger, err := account.New(s, account.DefaultOptions())
	require.NoError(t, err)
	key, err := ledger.CreateKey(t.Context(), "a", "pro")
	require.NoError(t, err)
	who, err := ledger.Authenticate(t.Context(), key.Token)
	require.NoError(t, err)
	books, id := m.Books(ledger), account.NewDetectionID()
	accept := func(of error) error {
		all := []account.Request{{Account: who, Submission: account.Submission{ID: id, Async: true, Sensitivity: "balanced"}}}
		return books.ReserveAll(t.Context(), all, step(of))
	}
	counted := func(e Event) float64 { return testutil.ToFloat64(m.quota.WithLabelValues(string(e))) }

	require.Error(t, accept(fmt.Errorf("accept: %w", job.ErrFull)))
	require.Error(t, accept(context.Canceled))
	require.NoError(t, accept(nil))
	require.ErrorIs(t, books.Fail(t.Context(), id, "x", step(account.ErrSuperseded)), account.ErrSuperseded)
	require.NoError(t, books.Fail(t.Context(), id, "x"))
	require.ErrorIs(t, books.SettleAll(t.Context(), []account.Ended{{ID: id, Outcome: account.Outcome{Kind: "image", Verdict: "real"}}}), account.ErrFailed)
	assert.Zero(t, counted(Broken))
	assert.InDelta(t, 1, counted(Reserved), 0)
	assert.InDelta(t, 1, counted(Failed), 0)

	require.Error(t, accept(errors.New("the disk is full")))
	assert.InDelta(t, 1, counted(Broken), 0)

	// Of several nobody is told, as each is tried alone, which is not done where nobody
	// knows what has come of them.
	books.wroteAll(2, time.Now(), Reserved, errors.New("the disk is full"))
	assert.InDelta(t, 1, counted(Broken), 0)
	books.wroteAll(2, time.Now(), Reserved, &store.UnknownError{Err: errors.New("it is away")})
	assert.InDelta(t, 3, counted(Broken), 0)
}

// step is another part of a transaction, which fails with err.
func step(err error) account.Step {
	return func(context.Context, *store.Tx) error { return err }
}

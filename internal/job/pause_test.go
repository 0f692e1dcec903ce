package job

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
)

// A paused process begins nothing until it is resumed, and is closed as any other.
func TestPause(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, fresh func(testing.TB) where) {
		t.Helper()
		f := setup(t, fresh(t), good, options(2))
		f.ended(f.submit(1)[0])
		for range 2 {
			require.NoError(t, f.jobs.Pause(t.Context()))
			id := f.submit(1)[0]
			assert.Never(t, func() bool {
				d, err := f.ledger.Detection(t.Context(), f.account, id)
				return err != nil || d.State != account.Processing
			}, 1500*time.Millisecond, 50*time.Millisecond, "River looks by itself once a second")
			require.NoError(t, f.jobs.Resume(t.Context()))
			assert.Equal(t, account.Complete, f.ended(id).State)
		}
		require.NoError(t, f.jobs.Pause(t.Context()))
		require.NoError(t, f.jobs.Close(t.Context()))
		require.NoError(t, f.jobs.Resume(t.Context()), "closed is closed")
		d, err := f.ledger.Detection(t.Context(), f.account, f.submit(1)[0])
		require.NoError(t, err)
		assert.Equal(t, account.Processing, d.State)
	})
}

// A process that can't analyse anything took the jobs of a healthy one through all their
// attempts: it fails each in no time, and so is the first to ask for the next.
func TestJobsAreLeftToTheHealthy(t *testing.T) {
	t.Parallel()
	w := onPostgres(t)
	healthy := setup(t, w, func(ctx context.Context, r inference.Request) (inference.Result, error) {
		<-time.After(20 * time.Millisecond)
		return good(ctx, r)
	}, options(4))
	failed := make(chan struct{}, 1000)
	out := setup(t, w, func(context.Context, inference.Request) (inference.Result, error) {
		failed <- struct{}{}
		return inference.Result{}, &inference.FaultError{Err: errors.New("CUDA error 719: unspecified launch failure"), Out: true}
	}, options(4))
	ids := healthy.submit(50)
	for range 20 {
		<-failed
	}
	require.NoError(t, out.jobs.Pause(t.Context()))
	for _, id := range ids {
		d := healthy.ended(id)
		assert.Equal(t, account.Complete, d.State, d.Error)
	}
}

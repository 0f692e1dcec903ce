package job

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
)

// A submission can be taken back while its job runs, where the database's answer to it was lost. Its result
// finds nothing to be written to: the job ends with it, once, and the upload goes.
func TestTakenBackWhileAnalysed(t *testing.T) {
	t.Parallel()
	onBoth(t, testTakenBackWhileAnalysed)
}

func testTakenBackWhileAnalysed(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	var analyses atomic.Int32
	begun, release := make(chan struct{}), make(chan struct{})
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if analyses.Add(1) == 1 {
			close(begun)
			<-release
		}
		return good(ctx, r)
	}, options(1))
	id := f.submit(1)[0]
	<-begun
	require.NoError(t, f.ledger.Withdraw(t.Context(), id))
	close(release)
	f.empty()
	assert.EventuallyWithT(t, func(c *assert.CollectT) {
		left := -1
		assert.NoError(c, f.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM river_job WHERE state <> 'completed'`).Scan(&left))
		assert.Zero(c, left, "jobs that have not ended")
	}, patience, 5*time.Millisecond)
	assert.EqualValues(t, 1, analyses.Load())
	f.used(0)
}

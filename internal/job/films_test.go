package job

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
)

// One process took thirty films at once, eight of which its gate let in, and others had
// nothing to do: it takes no more films than are let in, and goes on with what is none.
func TestFilmsAreLeftToOthers(t *testing.T) {
	t.Parallel()
	onBoth(t, testFilmsAreLeftToOthers)
}

func testFilmsAreLeftToOthers(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	begun, release := make(chan int64, 9), make(chan struct{})
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		begun <- r.Size
		<-release
		return good(ctx, r)
	}, options(8))
	const head = "\x00\x00\x00\x18ftypisom"
	var ids []string
	for range 3 {
		s, task, err := f.task(f.account)
		require.NoError(t, err)
		require.NoError(t, task.File.Close())
		task.File, err = f.spool.Create()
		require.NoError(t, err)
		_, err = task.File.Write([]byte(head))
		require.NoError(t, err)
		require.NoError(t, f.jobs.Submit(t.Context(), f.account, s, task))
		require.NoError(t, task.File.Close())
		ids = append(ids, task.ID)
	}
	for range 2 {
		assert.EqualValues(t, len(head), <-begun)
	}
	ids = append(ids, f.submit(1)...)
	assert.Greater(t, <-begun, int64(len(head)), "the third film was begun as well")
	close(release)
	for _, id := range ids {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
}

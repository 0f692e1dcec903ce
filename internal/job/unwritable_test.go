package job

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
)

// errUnwritable is what a decoder that a file had taken over said before it ended.
var errUnwritable = errors.New("decoder: the child ended: signal: killed: a\x00b")

// A decoder's last words had a zero byte, and PostgreSQL takes none in JSON: River tried again and again to
// write down the end of that attempt and, with it, those of all other jobs of the process. Their results
// didn't come, whosever they were, and a stop waited in vain.
func TestAFailureThatCannotBeWrittenDownHoldsUpNobody(t *testing.T) {
	t.Parallel()
	onBoth(t, testAFailureThatCannotBeWrittenDownHoldsUpNobody)
}

func testAFailureThatCannotBeWrittenDownHoldsUpNobody(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	calls := atomic.Int64{}
	f := setup(t, fresh(t), func(ctx context.Context, r inference.Request) (inference.Result, error) {
		if calls.Add(1) == 1 {
			return inference.Result{}, &inference.FaultError{Err: errUnwritable}
		}
		return good(ctx, r)
	}, options(1))
	for _, id := range f.submit(2) {
		assert.Equal(t, account.Complete, f.ended(id).State)
	}
	assert.EqualValues(t, 3, calls.Load(), "attempts")
	f.used(2)
	f.empty()
}

func TestWritable(t *testing.T) {
	t.Parallel()
	err := error(&writable{errUnwritable})
	require.EqualError(t, err, "decoder: the child ended: signal: killed: a\uFFFDb")
	require.ErrorIs(t, err, errUnwritable)
}

package inference

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// A row that waits for a thread to wake up, for a timer, or to be copied on its way, costs its caller more than the
// scheduler itself. Time was asserted once, in microseconds, and slow processors failed; what makes a row slow is
// counted instead: it is written once, into the session's own memory, and one run begins while no time passes.
func TestARowOfAnIdleSchedulerIsWrittenOnceAndRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, 0, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		start := time.Now()
		for n := range 100 {
			fills := 0
			logits, err := s.Run(t.Context(), Work{Model: "m", Rows: 1, Fill: func(_ int, row models.Row) {
				fills++
				assert.Same(t, &r.rows[0].F32[0], &row.F32[0], "the row is the session's own memory")
				row.F32[0] = float32(n)
			}})
			require.NoError(t, err)
			assert.Equal(t, []float32{float32(n)}, logits)
			assert.Equal(t, 1, fills)
			assert.Len(t, r.batches, n+1)
		}
		assert.Zero(t, time.Since(start), "nothing waits for a timer")
	})
}

package account

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/gather"
)

// Each synchronous scan synced to disk by itself, and SQLite has one transaction at a
// time: a disk that takes five milliseconds ended two hundred scans a second, however
// fast the models were. Those that end while another is written share the next
// transaction; one that can't be settled spoils it for nobody.
func TestScansThatEndTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, _ := setup(t, sqlite)
		a := join(t, l, "ann", "pro")
		ids := []string{reserve(t, l, a, false), reserve(t, l, a, false), NewDetectionID(), reserve(t, l, a, false)}

		var mu sync.Mutex
		var shared []int
		goOn := make(chan struct{})
		l.settles = gather.New(1, together, func(ctx context.Context, all []*settling) error {
			mu.Lock()
			shared = append(shared, len(all))
			mu.Unlock()
			<-goOn
			return l.settleSeveral(ctx, all)
		})
		var group sync.WaitGroup
		for i, id := range ids {
			group.Go(func() {
				d, err := l.Settle(t.Context(), id, outcome)
				if i == 2 {
					assert.ErrorIs(t, err, ErrNotFound, "its own reason")
					return
				}
				if !assert.NoError(t, err) {
					return
				}
				assert.Equal(t, id, d.ID)
				assert.Equal(t, outcome, d.Outcome)
			})
			synctest.Wait()
		}
		close(goOn)
		group.Wait()
		assert.Equal(t, []int{1, 3, 1, 1, 1}, shared, "the first at once, the others together, and each alone as one of them fails")
		used, reserved, _ := taken(t, l, a)
		require.Equal(t, [2]int{3, 0}, [2]int{used, reserved}, "each is counted once")
	})
}

package account

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Many clients of one account fight for its last places, through two stores on
// the same file, as two processes. At no moment may more be taken than there
// is, and in the end exactly what succeeded is counted.
func TestTheQuotaHolds(t *testing.T) {
	t.Parallel()
	onBoth(t, testTheQuotaHolds)
}

func testTheQuotaHolds(t *testing.T, fresh database) {
	t.Helper()
	const clients, each, limit = 40, 12, 150
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "pro", RequestsPerMinute: 1, Scans: limit, Period: Monthly, Async: true}
	processes := []*Ledger{open(t, dir, c, plan), open(t, dir, c, plan)}
	a := join(t, processes[0], "ann", "pro")

	stop, watched := watch(t, processes[1], a, limit)
	var succeeded, refused atomic.Int64
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			l := processes[i%2]
			for range each {
				switch ok, err := submit(t.Context(), l, processes[(i+1)%2], a); {
				case errors.Is(err, ErrQuotaExceeded):
					refused.Add(1)
				case assert.NoError(t, err) && ok:
					succeeded.Add(1)
				}
			}
		})
	}
	group.Wait()
	stop()
	assert.Positive(t, <-watched, "somebody watched")

	used, reserved, err := places(t.Context(), processes[0], a)
	require.NoError(t, err)
	assert.EqualValues(t, succeeded.Load(), used)
	assert.Zero(t, reserved)
	assert.Positive(t, refused.Load())
	for range limit - used {
		settle(t, processes[0], reserve(t, processes[1], a, true))
	}
	assert.ErrorIs(t, processes[0].Check(t.Context(), a), ErrQuotaExceeded, "every place can be had, and no more")
}

// submit is one request that succeeds, fails, is cancelled, or is finished
// twice by processes that don't know of each other.
func submit(ctx context.Context, l, other *Ledger, a Account) (bool, error) {
	id := NewDetectionID()
	if err := l.Reserve(ctx, a, Submission{ID: id, Async: true, Sensitivity: "strict"}); err != nil {
		return false, err
	}
	switch rand.IntN(4) {
	case 0:
		return false, l.Fail(ctx, id, "It failed.")
	case 1:
		return false, l.Release(ctx, id)
	case 2:
		_, err := l.Settle(ctx, id, outcome)
		return true, err
	}
	var first, second error
	var group sync.WaitGroup
	group.Go(func() { _, first = l.Settle(ctx, id, outcome) })
	group.Go(func() { _, second = other.Settle(ctx, id, outcome) })
	group.Wait()
	return true, errors.Join(first, second)
}

// watch looks at used + reserved all the time, until stop, and then tells how
// often it has looked.
func watch(t *testing.T, l *Ledger, a Account, limit int) (stop func(), looks <-chan int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int, 1)
	go func() {
		n, last := 0, 0
		for ; ctx.Err() == nil; n++ {
			used, reserved, err := places(context.WithoutCancel(ctx), l, a)
			assert.NoError(t, err)
			assert.LessOrEqual(t, used+reserved, limit)
			assert.GreaterOrEqual(t, used, last, "a scan is never taken back")
			last = used
		}
		done <- n
	}()
	return stop, done
}

// One place and many who ask for it at once: one gets it, the others hear why
// not, and nobody hears of locks.
func TestTheLastPlace(t *testing.T) {
	t.Parallel()
	onBoth(t, testTheLastPlace)
}

func testTheLastPlace(t *testing.T, fresh database) {
	t.Helper()
	dir, c := fresh(t), at("2026-01-15T12:00:00Z")
	plan := Plan{Name: "free", RequestsPerMinute: 1, Scans: 1, Period: Lifetime}
	processes := []*Ledger{open(t, dir, c, plan), open(t, dir, c, plan)}
	a := join(t, processes[0], "ann", "free")
	var got, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			err := processes[i%2].Reserve(t.Context(), a, Submission{ID: NewDetectionID(), Sensitivity: "strict"})
			switch {
			case err == nil:
				got.Add(1)
			case assert.ErrorIs(t, err, ErrQuotaExceeded):
				refused.Add(1)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 1, got.Load())
	assert.EqualValues(t, 31, refused.Load())
}

package job

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/spool"
)

// parking are uploads that count what is parked.
type parking struct {
	Uploads

	parked atomic.Int64
}

// Park implements Uploads.
func (p *parking) Park(ctx context.Context, name string, f *spool.File) error {
	p.parked.Add(1)
	return p.Uploads.Park(ctx, name, f)
}

// Each job that a full queue refuses had been synced to disk, and took a transaction, or
// two where others came with it: 600 of them a second left time for 28 results in place of 120.
func TestRefusalsCostLittle(t *testing.T) {
	t.Parallel()
	onBoth(t, testRefusalsCostLittle)
}

func testRefusalsCostLittle(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := enter(t, fresh(t))
	uploads := &parking{Uploads: f.uploads}
	f.uploads = uploads
	opts := options(1)
	opts.Queue = 2
	judging, release := make(chan struct{}, 9), make(chan struct{})
	f.start(func(ctx context.Context, r inference.Request) (inference.Result, error) {
		judging <- struct{}{}
		<-release
		return good(ctx, r)
	}, opts)
	ids := f.submit(1)
	<-judging
	ids = append(ids, f.submit(1)...) // this one waits, and the account may have no more
	before, began := uploads.parked.Load(), time.Now()
	for range 100 {
		_, err := f.place.submit(t.Context(), f.jobs, f.account)
		require.ErrorIs(t, err, ErrShare)
	}
	assert.LessOrEqual(t, uploads.parked.Load()-before, 1+int64(time.Since(began)/stale), "refused after they were on disk")
	close(release)
	<-judging
	ids = append(ids, f.submit(1)...) // one has left the queue
	for _, id := range ids {
		f.ended(id)
	}
}

// While jobs begin, every refusal was forgotten as the next one did, so that of a flood a third went
// to the disk and to the database, 32 at a time, where those that had no room had the others tried
// one by one: 512 clients got 40 results a second, and 128 got 90.
func TestAFloodIsRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	onBoth(t, testAFloodIsRefusedAtTheDoor)
}

func testAFloodIsRefusedAtTheDoor(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := enter(t, fresh(t))
	uploads := &parking{Uploads: f.uploads}
	f.uploads = uploads
	opts := options(2)
	opts.Queue = 16
	f.start(good, opts)
	const wanted = 200
	var accepted, refusedAtAll atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range 24 {
		all.Go(func() {
			for accepted.Load() < wanted {
				_, err := f.place.submit(t.Context(), f.jobs, f.account)
				if errors.Is(err, ErrShare) || errors.Is(err, ErrFull) { // with what was let through to ask, on a slow machine
					refusedAtAll.Add(1)
					runtime.Gosched()
					continue
				}
				if !assert.NoError(t, err) {
					return
				}
				accepted.Add(1)
			}
		})
	}
	all.Wait()
	inVain := uploads.parked.Load() - accepted.Load()
	asked := int64(time.Since(began) / stale) // more of them the slower the machine, and no other refusals
	assert.Greater(t, refusedAtAll.Load(), 10*(inVain-asked), "refused after they were on disk: %d", inVain)
	assert.LessOrEqual(t, inVain, accepted.Load()/10+asked)
}

// TestDoor: what is known of the queue lets through no more than it has room for, and whoever
// else there is keeps a share of it.
func TestDoor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // on a busy machine what is known went stale
		d := newDoor(Options{Queue: 4, RetryAfter: time.Second})
		job := func(account string) []detection { return []detection{{Account: account}} }
		d.asked = time.Now()
		require.NoError(t, d.enter("a"))
		require.NoError(t, d.enter("a"))
		require.ErrorIs(t, d.enter("a"), ErrShare, "two on their way, two places left")
		require.NoError(t, d.enter("b"))
		d.answered(d.ask(), counts{"a": 1}, job("a"))
		d.leave("a")
		require.NoError(t, d.enter("a"), "one waits, one is on its way, and one of b: one more")
		require.ErrorIs(t, d.enter("a"), ErrShare)
		d.answered(d.ask(), counts{"a": 2}, job("a"))
		d.answered(d.ask(), counts{"a": 2, "b": 1}, job("b"))
		require.NoError(t, d.enter("c"))
		require.ErrorIs(t, d.enter("d"), ErrFull)
		d.answered(d.ask(), counts{"a": 4}, nil)
		d.leave("c")
		require.ErrorIs(t, d.enter("c"), ErrFull, "others took the places")
		d.begun("a")
		d.begun("nobody")
		require.NoError(t, d.enter("c"))
		d.leave("c")

		asked := d.ask()
		d.begun("a") // may be counted in the answer
		d.answered(asked, counts{"a": 4}, nil)
		require.NoError(t, d.enter("c"))
		d.leave("c")
		d.answered(d.ask(), nil, nil)
		require.NoError(t, d.enter("c"), "a question without an answer")
		d.leave("c")

		d.answered(d.ask(), counts{"a": 4}, nil)
		d.asked = time.Now().Add(-stale)
		require.NoError(t, d.enter("c"), "who has waited may ask whether it is still so")
		require.ErrorIs(t, d.enter("c"), ErrFull, "one at a time")
		d.asked = time.Now().Add(-stale)
		require.NoError(t, d.enter("c"), "however long the other takes, to put its file into a bucket")
		d.leave("c")
		d.leave("c")

		first, second := d.ask(), d.ask()
		d.begun("a")
		d.counting(second) // counted after that
		d.answered(first, counts{"a": 3}, job("a"))
		d.answered(second, counts{"a": 2}, nil)
		assert.Equal(t, counts{"a": 3}, d.waiting, "what was accepted meanwhile, and not counted, waits too")
		assert.Empty(t, d.coming)
	})
}

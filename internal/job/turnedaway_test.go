package job

import (
	"context"
	"sync/atomic"
	"testing"

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
	for cheap := false; !cheap; {
		before := uploads.parked.Load()
		_, err := f.place.submit(t.Context(), f.jobs, f.account)
		require.ErrorIs(t, err, ErrShare)
		cheap = uploads.parked.Load() == before
	}
	f.jobs.turnedAway.note(f.account.ID, ErrShare) // just now, as it were
	close(release)
	<-judging
	assert.NoError(t, f.jobs.turnedAway.refuse(f.account.ID), "one has left the queue")
	for _, id := range ids {
		f.ended(id)
	}
}

package job

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/internal/account"
)

// gated are books that settle once the gate is open, and note how many each
// transaction is for.
type gated struct {
	Books

	gate chan struct{}
	mu   sync.Mutex
	runs []int
}

// SettleAll implements Books.
func (g *gated) SettleAll(ctx context.Context, all []account.Ended, also ...account.Step) error {
	g.mu.Lock()
	g.runs = append(g.runs, len(all))
	g.mu.Unlock()
	<-g.gate
	return g.Books.SettleAll(ctx, all, also...)
}

// coming is how many jobs are in a transaction or wait for the next.
func (g *gated) coming(r *Runner) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, run := range g.runs {
		n += run
	}
	return n + r.settles.Waiting()
}

// Jobs that end at the same moment share transactions, and one that another
// process has declared failed meanwhile takes none of them with it.
func TestJobsEndTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, testJobsEndTogether)
}

func testJobsEndTogether(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	for name, failed := range map[string]int{"all well": 0, "one has failed": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const jobs = 16
			f := enter(t, fresh(t))
			begun, goOn := make(chan struct{}, jobs), make(chan struct{})
			books := &gated{Books: f.ledger, gate: make(chan struct{})}
			runner, err := New(t.Context(), f.deps(func(ctx context.Context, r inference.Request) (inference.Result, error) {
				begun <- struct{}{}
				<-goOn
				return good(ctx, r)
			}, books), options(jobs))
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, runner.Close(context.Background())) })
			f.jobs = runner
			ids := f.submit(jobs)
			require.NoError(t, runner.Start(t.Context()))
			for range jobs {
				<-begun
			}
			for _, id := range ids[:failed] {
				require.NoError(t, f.ledger.Fail(t.Context(), id, "Somebody else said so."))
			}
			close(goOn)
			require.Eventually(t, func() bool { return books.coming(runner) == jobs }, patience, time.Millisecond)
			close(books.gate)
			for i, id := range ids {
				want := account.Complete
				if i < failed {
					want = account.Failed
				}
				assert.Equal(t, want, f.ended(id).State)
			}
			f.empty()
			f.used(jobs - failed)
			if failed == 0 {
				books.mu.Lock()
				assert.LessOrEqual(t, len(books.runs), 3, "%v", books.runs)
				books.mu.Unlock()
			}
			assert.EventuallyWithT(t, func(c *assert.CollectT) {
				n := 0
				assert.NoError(c, f.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&n))
				assert.Equal(c, jobs, n, "jobs ended")
			}, patience, 5*time.Millisecond)
		})
	}
}

// Uploads that come at the same moment share transactions, and the queue holds no
// more than it may: whoever finds it full together may have a place alone.
func TestJobsAreAcceptedTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, testJobsAreAcceptedTogether)
}

func testJobsAreAcceptedTogether(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	const uploads, places = 24, 10
	f := enter(t, fresh(t))
	opts := options(0)
	opts.Queue = 2 * places // of which one account has half
	var err error
	f.jobs, err = f.runner(t.Context(), good, opts)
	require.NoError(t, err)
	var group sync.WaitGroup
	var mu sync.Mutex
	accepted := 0
	for range uploads {
		group.Go(func() {
			_, err := f.place.submit(t.Context(), f.jobs, f.account)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				accepted++
				return
			}
			var full *inference.SaturatedError
			assert.ErrorAs(t, err, &full)
		})
	}
	group.Wait()
	waiting, err := f.jobs.Waiting(t.Context())
	require.NoError(t, err)
	assert.Equal(t, accepted, waiting)
	assert.GreaterOrEqual(t, accepted, places, "nobody is refused while there is room")
	if f.books.Postgres() == nil {
		assert.Equal(t, places, accepted)
	}
	parked, err := f.uploads.Parked(t.Context())
	require.NoError(t, err)
	assert.Len(t, parked, accepted, "no upload is left of those refused")
}

package job

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
)

// Twenty films of one account kept the picture of another waiting for two minutes: jobs
// were run oldest first. What has waited for long goes by its age all the same.
func TestAccountsTakeTurns(t *testing.T) {
	t.Parallel()
	onBoth(t, testAccountsTakeTurns)
}

func testAccountsTakeTurns(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(0))
	ids := f.submit(10)
	his, err := f.place.submit(t.Context(), f.jobs, f.another())
	require.NoError(t, err)
	f.waits(ids[9], "available", -overdue-time.Minute)
	f.goesBehind(ids[3])

	got := f.judgedInTurn(11)
	want := append([]string{ids[9], ids[0], ids[1], ids[2], his}, ids[3:9]...)
	assert.Equal(t, want, got)
}

// Whoever had more waiting than four was served the youngest first: what was handed in since
// the last time they had been put in order went in front of the rest of its own account, and so on for
// up to five minutes.
func TestJobsOfAnAccountGoByAge(t *testing.T) {
	t.Parallel()
	onBoth(t, testJobsOfAnAccountGoByAge)
}

func testJobsOfAnAccountGoByAge(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := setup(t, fresh(t), good, options(0))
	ids := f.submit(6)
	f.goesBehind(ids[5])
	ids = append(ids, f.submit(3)...)
	his, err := f.place.submit(t.Context(), f.jobs, f.another())
	require.NoError(t, err)
	assert.Equal(t, slices.Concat(ids[:4], []string{his}, ids[4:]), f.judgedInTurn(len(ids)+1))

	f = setup(t, fresh(t), good, options(0))
	ids = f.submit(6)
	f.goesBehind(ids[5])
	for _, id := range ids[:4] { // they are gone, and those that were behind them still are
		f.waits(id, "scheduled", time.Hour)
	}
	id, priority := f.submit(1)[0], 0
	require.NoError(t, f.books.Reader().QueryRowContext(t.Context(), `SELECT priority FROM river_job WHERE args->>'id' = $1`, id).Scan(&priority))
	assert.Equal(t, 2, priority)
}

// goesBehind waits until a job has been put behind others.
func (f *fixture) goesBehind(id string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		n := 0
		assert.NoError(f.t, f.jobs.Recover(f.t.Context()))
		err := f.books.Reader().QueryRowContext(f.t.Context(), `SELECT count(*) FROM river_job WHERE priority = 2 AND args->>'id' = $1`, id).Scan(&n)
		return err == nil && n == 1
	}, patience, 10*time.Millisecond)
}

// judgedInTurn has a runner with one worker judge n jobs, and returns their ids in the
// order in which they were.
func (f *fixture) judgedInTurn(n int) (got []string) {
	f.t.Helper()
	judged := make(chan string, n)
	f.start(func(ctx context.Context, r inference.Request) (inference.Result, error) {
		id := make([]byte, r.Size)
		_, err := r.File.ReadAt(id, 0)
		judged <- string(id)
		if err != nil {
			return inference.Result{}, err
		}
		return good(ctx, r)
	}, options(1))
	for range n {
		got = append(got, <-judged)
	}
	return got
}

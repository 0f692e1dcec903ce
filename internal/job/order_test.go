package job

import (
	"context"
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
	require.Eventually(t, func() bool {
		n := 0
		assert.NoError(t, f.jobs.Recover(t.Context()))
		err := f.books.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM river_job WHERE priority = 2`).Scan(&n)
		return err == nil && n == 6
	}, time.Minute, 10*time.Millisecond)

	judged := make(chan string, 11)
	f.start(func(ctx context.Context, r inference.Request) (inference.Result, error) {
		id := make([]byte, r.Size)
		_, err := r.File.ReadAt(id, 0)
		judged <- string(id)
		if err != nil {
			return inference.Result{}, err
		}
		return good(ctx, r)
	}, options(1))
	var got []string
	for range 11 {
		got = append(got, <-judged)
	}
	want := append([]string{ids[9], ids[0], ids[1], ids[2], his}, ids[3:9]...)
	assert.Equal(t, want, got)
}

package job

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// What is asked of the queue for each job must not look at those that have ended,
// of which there are two thousand here.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, testQueryPlans)
}

func testQueryPlans(t *testing.T, fresh func(testing.TB) where) {
	t.Helper()
	f := enter(t, fresh(t))
	require.NoError(t, Migrate(t.Context(), f.books))
	words, explain := wordsOf(f.books), "EXPLAIN "
	if f.database == "" {
		explain = "EXPLAIN QUERY PLAN "
	}
	require.NoError(t, f.books.Write(t.Context(), func(tx *store.Tx) error {
		_, err := tx.ExecContext(t.Context(), `
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
			INSERT INTO river_job (args, kind, max_attempts, state, finalized_at) SELECT '{"id": "x"}', 'detection', 3, 'completed', `+words.now+` FROM n`)
		if err == nil {
			_, err = tx.ExecContext(t.Context(), `ANALYZE`)
		}
		return err
	}))
	for name, text := range map[string]string{
		"jobs that wait": strings.ReplaceAll(words.object(countWaiting), "$1", "256"),
		"jobs before it": strings.NewReplacer("$1", "4", "$2", "'[77]'").Replace(words.fallIn()),
		"uploads wanted": wantedUploads,
		"jobs that run":  `SELECT id FROM river_job WHERE state = 'running'`,
		"one job":        `SELECT state FROM river_job WHERE id = 77`,
	} {
		assert.NotRegexp(t, `SCAN river_job|Seq Scan`, f.plan(t.Context(), explain+text), name)
	}
}

// plan is what a database answers to EXPLAIN, in its last column.
func (f *fixture) plan(ctx context.Context, text string) string {
	f.t.Helper()
	rows, err := f.books.Reader().QueryContext(ctx, text)
	require.NoError(f.t, err)
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	require.NoError(f.t, err)
	var plan []string
	for rows.Next() {
		var line string
		into := []any{&line}
		for range len(columns) - 1 {
			into = append([]any{new(int)}, into...)
		}
		require.NoError(f.t, rows.Scan(into...))
		plan = append(plan, line)
	}
	require.NoError(f.t, rows.Err())
	return strings.Join(plan, "\n")
}

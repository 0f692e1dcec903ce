package account

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/store"
)

// What is asked with every request, or over a whole table, must not scan one. There
// are ten thousand detections, half of which are polled.
func TestQueryPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, testQueryPlans)
}

func testQueryPlans(t *testing.T, fresh database) {
	t.Helper()
	l, _ := setup(t, fresh)
	fill(t, l)
	explain := explainPostgres
	if l.store.Postgres() == nil {
		explain = explainSQLite
	}
	for name, q := range map[string]struct {
		text string
		args []any
	}{
		"polling: the key":       {ownerOf, []any{"k77"}},
		"polling: the detection": {byIDOf, []any{"d1_77", "a77"}},
		"usage":                  {usedIn, []any{"a77", 0}},
		"room":                   {placesTaken, []any{"a77", 0, 0}},
		"due":                    {`SELECT id FROM detections WHERE completed_at < $1 ORDER BY completed_at LIMIT $2`, []any{5, 100}},
		"released":               {`DELETE FROM reservations WHERE detection_id = $1`, []any{"d1_77"}},
	} {
		plan := explain(t, l, q.text, q.args...)
		assert.NotRegexp(t, `(?i)\bSCAN (detections|keys|accounts|k|a|scans|reservations|submissions)\b|Seq Scan|TEMP B-TREE|^\s*Sort`, plan, name)
	}
}

// fill makes a thousand accounts, each with a key, a scan, a submission and ten
// detections: every second one is processing, and one in ten has its place.
func fill(t *testing.T, l *Ledger) {
	t.Helper()
	const each = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) `
	statements := []string{
		`INSERT INTO accounts (id, name, plan, created_at) SELECT 'a' || i, 'n' || i, 'pro', i FROM n`,
		`INSERT INTO keys (id, account_id, hash, created_at) SELECT 'k' || i, 'a' || i, h.hash, i FROM n, (SELECT hash FROM keys WHERE id LIKE 'dfk_%') h`,
		`INSERT INTO scans (account_id, period, count) SELECT 'a' || i, 0, 1 FROM n`,
		`INSERT INTO submissions (account_id, day, count) SELECT 'a' || i, 0, 1 FROM n`,
		`INSERT INTO detections (id, account_id, mode, state, sensitivity, created_at, completed_at) SELECT 'd' || m.i || '_' || n.i, 'a' || n.i, 'async',
			CASE WHEN n.i % 2 = 0 THEN 'processing' ELSE 'failed' END, 'strict', n.i, CASE WHEN n.i % 2 = 0 THEN NULL ELSE n.i END
			FROM n, (SELECT i FROM n WHERE i <= 10) m`,
		`INSERT INTO reservations (detection_id, account_id, period) SELECT 'd1_' || i, 'a' || i, 0 FROM n`,
	}
	join(t, l, "ann", "pro") // whose hash they all have
	ctx := t.Context()
	require.NoError(t, l.store.Write(ctx, func(tx *store.Tx) error {
		for _, s := range statements {
			if _, err := tx.ExecContext(ctx, each+s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		_, err := tx.ExecContext(ctx, `ANALYZE`)
		return err
	}))
}

func explainSQLite(t *testing.T, l *Ledger, text string, args ...any) string {
	t.Helper()
	rows, err := l.store.Reader().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan = append(plan, detail)
	}
	require.NoError(t, rows.Err())
	return strings.Join(plan, "\n")
}

func explainPostgres(t *testing.T, l *Ledger, text string, args ...any) string {
	t.Helper()
	rows, err := l.store.Reader().QueryContext(t.Context(), "EXPLAIN "+text, args...)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	var plan []string
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan = append(plan, line)
	}
	require.NoError(t, rows.Err())
	return strings.Join(plan, "\n")
}

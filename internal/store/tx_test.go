package store

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is compiled in one transaction serves later ones, next to each other and
// after a failure; what does not compile fails each time.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	run := func(query string, args ...any) error {
		return s.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.ExecContext(t.Context(), query, args...)
			return err
		})
	}
	const script, insert = `CREATE TABLE a (x INTEGER UNIQUE); CREATE TABLE b (x INTEGER)`, `INSERT INTO a (x) VALUES ($1)`
	require.NoError(t, run(script))
	require.ErrorContains(t, run(script), "already exists", "a script is run each time")
	require.NoError(t, run(`SELECT count(*) FROM b`), "the whole script was run")
	for range 2 {
		require.Error(t, run(`INSERT INTO absent (x) VALUES (1)`))
	}
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() { assert.NoError(t, run(insert, i)) })
	}
	group.Wait()
	assert.Contains(t, keptBy(t, s.writer), insert)
	require.ErrorContains(t, run(insert, 7), "UNIQUE")
	require.NoError(t, run(insert, 99))

	for range 2 {
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
			var n int
			rows, err := tx.QueryContext(t.Context(), `SELECT x FROM a ORDER BY x`)
			require.NoError(t, err)
			for ; rows.Next(); n++ {
				var x int
				require.NoError(t, rows.Scan(&x))
			}
			require.NoError(t, rows.Err())
			assert.Equal(t, 33, n)
			return tx.QueryRowContext(t.Context(), `SELECT count(*) FROM a WHERE x > $1`, 50).Scan(&n)
		}))
	}
}

package store

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keptBy is what a connection of db keeps compiled.
func keptBy(t *testing.T, db *sql.DB) (texts []string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close()) }()
	require.NoError(t, conn.Raw(func(c any) error {
		for text := range c.(*compiled).idle {
			texts = append(texts, text)
		}
		return nil
	}))
	return texts
}

// The queue's statements were compiled each time, as it asks database/sql to run texts: of
// asynchronous pictures on two cores that was a twentieth of the processor time.
func TestTextsOfLibrariesAreKept(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	const query = `SELECT count(*) FROM accounts WHERE id = $1`
	var n int
	require.NoError(t, s.SQLite().QueryRowContext(t.Context(), query, "ann").Scan(&n))
	assert.Contains(t, keptBy(t, s.writer), query)
}

// The pragma that says when to sync does so when it is compiled: run again it would leave
// a transaction that has to be on disk unsynced.
func TestPragmasAreCompiledEachTime(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, level := range []int{2, 1, 2, 1, 1, 2} {
		_, err := s.writer.ExecContext(t.Context(), fmt.Sprintf(" pragma synchronous=%d", level))
		require.NoError(t, err)
		var got int
		require.NoError(t, s.writer.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&got))
		assert.Equal(t, level, got)
	}
	for _, text := range keptBy(t, s.writer) {
		assert.NotContains(t, strings.ToLower(text), "pragma")
	}
}

// A text that is run again while its own rows are being read does not begin these anew.
func TestATextBesideItself(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	const query = `WITH RECURSIVE n (x) AS (SELECT $1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n LIMIT 3`
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
		var read []int
		rows, err := tx.QueryContext(t.Context(), query, 10)
		require.NoError(t, err)
		defer func() { assert.NoError(t, rows.Close()) }()
		for rows.Next() {
			var outer, inner int
			require.NoError(t, rows.Scan(&outer))
			require.NoError(t, tx.QueryRowContext(t.Context(), query, 100*outer).Scan(&inner))
			read = append(read, outer, inner)
		}
		require.NoError(t, rows.Err())
		assert.Equal(t, []int{10, 1000, 11, 1100, 12, 1200}, read)
		return nil
	}))
	assert.Contains(t, keptBy(t, s.writer), query)
}

// Texts that somebody makes up do not fill the memory.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for i := range compiledMost + 50 {
		var n int
		require.NoError(t, s.writer.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", i)).Scan(&n))
		assert.Equal(t, i, n)
	}
	assert.Len(t, keptBy(t, s.writer), compiledMost)
}

// A statement that failed or was broken off is not used again; rows that are left
// half read keep nobody from writing.
func TestTextsThatFail(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	_, err := s.writer.ExecContext(t.Context(), `CREATE TABLE a (x INTEGER UNIQUE)`)
	require.NoError(t, err)
	const insert, all = `INSERT INTO a (x) VALUES ($1)`, `SELECT x FROM a`
	for i, fails := range []bool{false, true, false, true} {
		_, err := s.writer.ExecContext(t.Context(), insert, i/2)
		assert.Equal(t, fails, err != nil, "%v", err)
		assert.Equal(t, !fails, slices.Contains(keptBy(t, s.writer), insert))
	}
	rows, err := s.writer.QueryContext(t.Context(), all)
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, rows.Close())
	require.NoError(t, rows.Err())
	_, err = s.writer.ExecContext(t.Context(), `DROP TABLE a`)
	require.NoError(t, err, "nothing is being read")
	_, err = s.writer.QueryContext(t.Context(), all) //nolint:sqlclosecheck,rowserrcheck // it fails
	require.ErrorContains(t, err, "no such table")
}

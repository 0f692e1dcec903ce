package store

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func version(t *testing.T, s *Store) int {
	t.Helper()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT max(version) FROM migrations`).Scan(&n))
	return n
}

// published is what this version knows of a database's history.
func (b backend) published() []migration {
	if b.opts.Database != "" {
		return postgresMigrations()
	}
	return sqliteMigrations()
}

func TestMigrateOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		for range 2 {
			assert.Equal(t, len(b.published()), version(t, b.open(t)))
		}
	})
}

// Processes that are started at the same time on a new database must all come up.
// On a machine of many cores one of eight was told at once that SQLite's is
// locked, whatever the busy timeout: both had begun to switch it to WAL.
func TestMigrateInParallel(t *testing.T) {
	t.Parallel()
	for range 3 {
		onBoth(t, func(t *testing.T, b backend) {
			t.Helper()
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					s, err := Open(t.Context(), b.dir, b.opts)
					if assert.NoError(t, err) {
						assert.NoError(t, s.Close())
					}
				})
			}
			group.Wait()
		})
	}
}

func TestRefuseANewerSchema(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		s := b.open(t)
		known := version(t, s)
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO migrations (version, name) VALUES (99, 'future')`)
			return err
		}))
		_, err := Open(t.Context(), b.dir, b.opts)
		var newer *NewerSchemaError
		require.ErrorAs(t, err, &newer)
		assert.Equal(t, NewerSchemaError{Found: 99, Known: known}, *newer)
		assert.ErrorContains(t, err, "run the newer deepfaked")
		assert.ErrorContains(t, err, b.dir)
	})
}

// All or nothing: a script that fails half way leaves the schema as it was.
func TestMigrateForwards(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		history := []migration{{"0001_first.sql", `CREATE TABLE first (x INTEGER); CREATE TABLE more (x INTEGER);`}}
		at := func(more ...migration) error {
			s, err := b.openAt(t.Context(), slices.Concat(history, more))
			if err != nil {
				return err
			}
			return s.Close()
		}
		require.NoError(t, at())
		require.ErrorContains(t, at(migration{"0002_broken.sql", `CREATE TABLE half (x INTEGER); CREATE TABEL;`}), "0002_broken.sql")
		require.ErrorContains(t, at(migration{"0003_gap.sql", ""}), "should begin with 0002_")
		require.NoError(t, at(migration{"0002_whole.sql", `CREATE TABLE half (x INTEGER)`}), "nothing was left of the broken one")
		require.Error(t, at(), "there is no way back")
	})
}

// Open migrated before anything was claimed: a newer `serve`, refused because an
// older one was running, or any newer `keys`, had by then changed the schema
// under the older one's feet.
func TestAnOlderSchemaIsLeftToTheClaimant(t *testing.T) {
	t.Parallel()
	dir, history := t.TempDir(), []migration{{"0001_first.sql", `CREATE TABLE first (x INTEGER);`}}
	plain := DefaultOptions()
	plain.Migrate = false
	old, err := openSQLite(t.Context(), dir, plain, history)
	require.NoError(t, err, "there is nobody to disturb in a new folder")
	t.Cleanup(func() { assert.NoError(t, old.Close()) })
	again, err := openSQLite(t.Context(), dir, plain, history)
	require.NoError(t, err, "nothing is to be done")
	require.NoError(t, again.Close())

	history = append(history, migration{"0002_second.sql", `CREATE TABLE second (x INTEGER);`})
	_, err = openSQLite(t.Context(), dir, plain, history)
	var older *OlderSchemaError
	require.ErrorAs(t, err, &older)
	assert.Equal(t, OlderSchemaError{Found: 1, Known: 2}, *older)
	require.ErrorContains(t, err, "stop the service")
	require.ErrorContains(t, err, dir)
	assert.Equal(t, 1, version(t, old))

	claimed, err := openSQLite(t.Context(), dir, DefaultOptions(), history)
	require.NoError(t, err)
	require.NoError(t, claimed.Close())
	assert.Equal(t, 2, version(t, old))
}

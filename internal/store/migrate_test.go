package store

import (
	"io/fs"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func version(t *testing.T, s *Store) int {
	t.Helper()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT max(version) FROM migrations`).Scan(&n))
	return n
}

func TestMigrateOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names, err := fs.Glob(migrations, "migrations/*.sql")
	require.NoError(t, err)
	for range 2 {
		s := open(t, dir)
		assert.Equal(t, len(names), version(t, s))
	}
}

// Processes that are started at the same time on a new folder must all come up.
// On a machine of many cores one of eight was told at once that the database is
// locked, whatever the busy timeout: both had begun to switch it to WAL.
func TestMigrateInParallel(t *testing.T) {
	t.Parallel()
	for range 4 {
		dir := t.TempDir()
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				s, err := Open(t.Context(), dir, DefaultOptions())
				if assert.NoError(t, err) {
					assert.NoError(t, s.Close())
				}
			})
		}
		group.Wait()
	}
}

func TestRefuseANewerSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	known := version(t, s)
	_, err := s.writer.ExecContext(t.Context(), `INSERT INTO migrations (version, name) VALUES (99, 'future')`)
	require.NoError(t, err)

	_, err = Open(t.Context(), dir, DefaultOptions())
	var newer *NewerSchemaError
	require.ErrorAs(t, err, &newer)
	assert.Equal(t, NewerSchemaError{Found: 99, Known: known}, *newer)
	assert.ErrorContains(t, err, "run the newer deepfaked")
	assert.ErrorContains(t, err, dir)
}

func TestMigrateForwards(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	files := fstest.MapFS{}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		files[name] = &fstest.MapFile{} // has been applied: not read again
	}
	next := len(names) + 1
	files["migrations/0002_next.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE next (x INTEGER); CREATE TABLE more (x INTEGER);`)}
	require.Equal(t, 2, next, "name the file of this test after the next migration")
	require.NoError(t, migrate(t.Context(), s.writer, files, DefaultOptions()))
	assert.Equal(t, next, version(t, s))

	// All or nothing: a script that fails half way leaves the schema as it was.
	files["migrations/0003_broken.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE half (x INTEGER); CREATE TABEL;`)}
	require.ErrorContains(t, migrate(t.Context(), s.writer, files, DefaultOptions()), "0003_broken.sql")
	assert.Equal(t, next, version(t, s))
	_, err = s.writer.ExecContext(t.Context(), `SELECT * FROM half`)
	require.ErrorContains(t, err, "no such table")

	delete(files, "migrations/0003_broken.sql")
	files["migrations/0004_gap.sql"] = &fstest.MapFile{}
	require.ErrorContains(t, migrate(t.Context(), s.writer, files, DefaultOptions()), "should begin with migrations/0003_")
}

// Open migrated before anything was claimed: a newer `serve`, refused because an
// older one was running, or any newer `keys`, had by then changed the schema
// under the older one's feet.
func TestAnOlderSchemaIsLeftToTheClaimant(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), fstest.MapFS{"migrations/0001_first.sql": {Data: []byte(`CREATE TABLE first (x INTEGER);`)}}
	plain := DefaultOptions()
	plain.Migrate = false
	old, err := openAt(t.Context(), dir, plain, files)
	require.NoError(t, err, "there is nobody to disturb in a new folder")
	t.Cleanup(func() { assert.NoError(t, old.Close()) })
	again, err := openAt(t.Context(), dir, plain, files)
	require.NoError(t, err, "nothing is to be done")
	require.NoError(t, again.Close())

	files["migrations/0002_second.sql"] = &fstest.MapFile{Data: []byte(`CREATE TABLE second (x INTEGER);`)}
	_, err = openAt(t.Context(), dir, plain, files)
	var older *OlderSchemaError
	require.ErrorAs(t, err, &older)
	assert.Equal(t, OlderSchemaError{Found: 1, Known: 2}, *older)
	require.ErrorContains(t, err, "stop the service")
	require.ErrorContains(t, err, dir)
	assert.Equal(t, 1, version(t, old))

	claimed, err := openAt(t.Context(), dir, DefaultOptions(), files)
	require.NoError(t, err)
	require.NoError(t, claimed.Close())
	assert.Equal(t, 2, version(t, old))
}

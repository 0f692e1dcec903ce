package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(t.Context(), dir, DefaultOptions())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func TestOpenMakesPrivateFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	s := open(t, dir)
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "a") }))

	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 3, "database, log and shared memory")
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
}

// A database that was deleted or replaced while it was open went on taking everything,
// into a file that nobody found again.
func TestAstray(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	path, elsewhere := filepath.Join(dir, FileName), filepath.Join(dir, "elsewhere")
	require.NoError(t, s.Astray())
	require.NoError(t, os.Rename(path, elsewhere))
	require.ErrorIs(t, s.Astray(), fs.ErrNotExist)
	another, err := connect(path, DefaultOptions())
	require.NoError(t, err)
	require.Error(t, another.Write(t.Context(), func(*Tx) error { return nil }))
	require.NoError(t, another.Close())
	require.NoFileExists(t, path)
	// Nor does another command, such as keys create: the log that it threw away was the only place of
	// what had been written, and the service said that all was well once the file was back.
	_, err = Open(t.Context(), dir, DefaultOptions())
	require.ErrorContains(t, err, "move the database back")
	require.NoFileExists(t, path)
	require.FileExists(t, path+"-wal")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.ErrorContains(t, s.Astray(), path+" is another file")
	// An empty file, as a copy leaves that failed, says no more than none: the next start threw the log away,
	// and the uploads of jobs that waited, too.
	_, err = Open(t.Context(), dir, DefaultOptions())
	require.ErrorContains(t, err, "is gone or empty")
	info, err := os.Stat(path + "-wal")
	require.NoError(t, err)
	require.NotZero(t, info.Size())
	require.NoError(t, os.Rename(elsewhere, path))
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "a") }))
	assert.NoError(t, s.Astray())
}

func TestOpenNarrowsTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Chmod(path, 0o666))
	open(t, dir)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestOpenTakesAnyFolderName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "what?now#then", "100%", "%41", "für", "a&b=c;d", "file:x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), name)
			open(t, dir)
			info, err := os.Stat(filepath.Join(dir, FileName))
			require.NoError(t, err)
			assert.Positive(t, info.Size(), "the database is in the file that was named")
		})
	}
}

func TestPragmas(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "10000", "synchronous": "2",
	} {
		for pool, db := range map[string]*sql.DB{"writer": s.writer, "reader": s.reader} {
			var got string
			require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
			assert.Equal(t, want, got, "%s of the %s", pragma, pool)
		}
	}
}

func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	_, err := s.Reader().ExecContext(t.Context(), `INSERT INTO accounts (id, name, plan, created_at) VALUES ('a', 'a', 'free', 0)`)
	assert.ErrorContains(t, err, "readonly")
}

// Each request looks its key up, and SQLite compiled the same text for each, which
// took two thirds of the time. What is compiled is run with other arguments, by many
// at once, sees what has been written since, and can't be got wrong for good.
func TestReaderCompiles(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	const query = `SELECT count(*) FROM accounts WHERE id = $1`
	read := func(id string) (n int) {
		assert.NoError(t, s.Reader().QueryRowContext(t.Context(), query, id).Scan(&n))
		return n
	}
	assert.Zero(t, read("ann"))
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO accounts (id, name, plan, created_at) VALUES ('ann', 'ann', 'pro', 0)`)
		return err
	}))
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			assert.Equal(t, 1, read("ann"))
			assert.Zero(t, read("ben"))
		})
	}
	group.Wait()
	assert.Contains(t, keptBy(t, s.reader), query)

	const later = `SELECT count(*) FROM later`
	var n int
	require.ErrorContains(t, s.Reader().QueryRowContext(t.Context(), later).Scan(&n), "no such table")
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.ExecContext(t.Context(), `CREATE TABLE later (id INTEGER)`)
		return err
	}))
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), later).Scan(&n))
}

// TestWhatIsSynced: the level belongs to the connection, which all share, so that
// one transaction could decide for the next, even where it failed.
func TestWhatIsSynced(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	refusal := errors.New("refused")
	for i, tt := range []struct {
		write func(context.Context, func(*Tx) error) error
		level int // of PRAGMA synchronous: 1 is NORMAL, 2 is FULL
		fails error
	}{{s.Write, 2, nil}, {s.WriteUnsynced, 1, nil}, {s.Write, 2, nil}, {s.WriteUnsynced, 1, refusal}, {s.Write, 2, nil}} {
		err := tt.write(t.Context(), func(tx *Tx) error {
			var level int
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT synchronous FROM pragma_synchronous").Scan(&level))
			assert.Equal(t, tt.level, level, "transaction %d", i)
			return tt.fails
		})
		require.ErrorIs(t, err, tt.fails)
	}
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

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

func insertAccount(ctx context.Context, tx *Tx, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $1, 'free', 0)`, id)
	return err
}

func accounts(t *testing.T, s *Store) int {
	t.Helper()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM accounts`).Scan(&n))
	return n
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

func TestForeignKeysHold(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	err := s.Write(t.Context(), func(tx *Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO scans (account_id, period, count) VALUES ('nobody', 0, 1)`)
		return err
	})
	assert.ErrorContains(t, err, "FOREIGN KEY")
}

// Whoever cancels is told so: now and then the answer was that the transaction
// had been rolled back already.
func TestWriteRollsBack(t *testing.T) {
	t.Parallel()
	refusal := errors.New("refused")
	for _, tt := range []struct {
		name string
		fn   func(context.CancelFunc) error
		want error
	}{
		{"on an error", func(context.CancelFunc) error { return refusal }, refusal},
		{"on a panic", func(context.CancelFunc) error { panic("oops") }, nil},
		{"when cancelled", func(cancel context.CancelFunc) error { cancel(); return nil }, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, t.TempDir())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var err error
			func() {
				defer func() { _ = recover() }()
				err = s.Write(ctx, func(tx *Tx) error {
					require.NoError(t, insertAccount(ctx, tx, "a"))
					return tt.fn(cancel)
				})
			}()
			require.ErrorIs(t, err, tt.want)
			assert.Zero(t, accounts(t, s))
			// The one connection is free again.
			require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "b") }))
		})
	}
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

// Each writer has a store of its own, as each would in a process of its own:
// whoever waits for the lock must get it in the end.
func TestParallelWritersNeverSeeALock(t *testing.T) {
	t.Parallel()
	const writers, each = 32, 8
	dir := t.TempDir()
	opts := DefaultOptions()
	opts.Readers, opts.BusyTimeout = 1, time.Minute
	s := open(t, dir)
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "a") }))
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			s, err := Open(t.Context(), dir, opts)
			if !assert.NoError(t, err) {
				return
			}
			defer func() { assert.NoError(t, s.Close()) }()
			for range each {
				assert.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return count(t.Context(), tx) }))
			}
		})
	}
	group.Wait()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT count FROM scans`).Scan(&n))
	assert.Equal(t, writers*each, n)
}

// count reads before it writes: in a deferred transaction, two of these at once
// would end in "database is locked" whatever the busy timeout is.
func count(ctx context.Context, tx *Tx) error {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(count), 0) FROM scans`).Scan(&n); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO scans (account_id, period, count) VALUES ('a', 0, $1)
		ON CONFLICT (account_id, period) DO UPDATE SET count = excluded.count`, n+1)
	return err
}

func TestCloseTwice(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), t.TempDir(), DefaultOptions())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	assert.Error(t, s.Write(t.Context(), func(*Tx) error { return nil }))
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"defaults", func(*Options) {}, ""},
		{"no readers", func(o *Options) { o.Readers = 0 }, "readers"},
		{"too many readers", func(o *Options) { o.Readers = 257 }, "readers"},
		{"no busy timeout", func(o *Options) { o.BusyTimeout = 0 }, "busy timeout"},
		{"an endless busy timeout", func(o *Options) { o.BusyTimeout = time.Hour }, "busy timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := DefaultOptions()
			tt.change(&opts)
			if tt.want == "" {
				require.NoError(t, opts.Validate())
				return
			}
			require.ErrorContains(t, opts.Validate(), tt.want)
			_, err := Open(t.Context(), t.TempDir(), opts)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

package store

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func insertAccount(ctx context.Context, tx *Tx, id string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $2, 'free', 0)`, id, id)
	return err
}

func accounts(t *testing.T, s *Store) int {
	t.Helper()
	var n int
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `SELECT count(*) FROM accounts`).Scan(&n))
	return n
}

func TestForeignKeysHold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		err := b.open(t).Write(t.Context(), func(tx *Tx) error {
			_, err := tx.ExecContext(t.Context(), `INSERT INTO scans (account_id, period, count) VALUES ('nobody', 0, 1)`)
			return err
		})
		assert.Regexp(t, "(?i)foreign key", err)
	})
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
			onBoth(t, func(t *testing.T, b backend) {
				t.Helper()
				s := b.open(t)
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
				// The connection is free again.
				require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "b") }))
			})
		})
	}
}

// Each writer has a store of its own, as each would in a process of its own:
// whoever waits for the lock must get it in the end, and has what the others
// wrote before it.
func TestParallelWritersNeverSeeALock(t *testing.T) {
	t.Parallel()
	const writers, each = 32, 8
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		b.opts.Readers, b.opts.Connections, b.opts.BusyTimeout = 1, 2, time.Minute
		s := b.open(t)
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { return insertAccount(t.Context(), tx, "a") }))
		var group sync.WaitGroup
		for range writers {
			group.Go(func() {
				s, err := Open(t.Context(), b.dir, b.opts)
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
	})
}

// count reads before it writes: in a deferred transaction of SQLite, two of these
// at once would end in "database is locked" whatever the busy timeout is, and on
// PostgreSQL without a lock in the same number.
func count(ctx context.Context, tx *Tx) error {
	if err := tx.Lock(ctx, "accounts", "a"); err != nil {
		return err
	}
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
	onBoth(t, func(t *testing.T, b backend) {
		t.Helper()
		s, err := Open(t.Context(), b.dir, b.opts)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		assert.Error(t, s.Write(t.Context(), func(*Tx) error { return nil }))
	})
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
		{"one connection", func(o *Options) { o.Connections = 1 }, "connections"},
		{"no busy timeout", func(o *Options) { o.BusyTimeout = 0 }, "busy timeout"},
		{"an endless busy timeout", func(o *Options) { o.BusyTimeout = time.Hour }, "busy timeout"},
		{"lost at once", func(o *Options) { o.Lost = 0 }, "lost"},
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

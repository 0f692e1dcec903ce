package store

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/postgrestest"
)

// A connection that broke before the answer to COMMIT came was an error like one of a
// transaction that had come to nothing. It is told apart, however the COMMIT goes, and
// the transaction is not run again.
func TestACommitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b, unheard := onPostgres(t), &postgrestest.Unheard{}
	b.opts.Database = postgrestest.Between(t, b.opts.Database, unheard.Relay)
	s := b.open(t)
	for name, write := range map[string]func(*Tx) error{
		"by itself": func(tx *Tx) error { return insertAccount(t.Context(), tx, "by itself") },
		"with what is queued": func(tx *Tx) error {
			return errors.Join(tx.Flush(t.Context()), tx.Queue(func(b *pgx.Batch) { b.Queue(insertQueued, "with what is queued") }))
		},
	} {
		before, runs := accounts(t, s), 0
		unheard.Lose(name, false)
		err := s.Write(t.Context(), func(tx *Tx) error { runs++; return write(tx) })
		_, unknown := errors.AsType[*UnknownError](err)
		assert.True(t, unknown, "%s: %v", name, err)
		assert.Equal(t, 1, runs)
		assert.Equal(t, before+1, accounts(t, s), name)
	}
}

// What certainly came to nothing is no such error.
func TestACommitThatWasRefused(t *testing.T) {
	t.Parallel()
	s := onPostgres(t).open(t)
	for name, do := range map[string]func(*Tx, func()) error{
		"at the commit": func(tx *Tx, _ func()) error {
			_, err := tx.ExecContext(t.Context(), `CREATE TEMP TABLE once (x INT UNIQUE DEFERRABLE INITIALLY DEFERRED) ON COMMIT DROP; INSERT INTO once VALUES (1), (1)`)
			return err
		},
		"with the commit": func(tx *Tx, _ func()) error {
			return errors.Join(tx.Flush(t.Context()), tx.Queue(func(b *pgx.Batch) { b.Queue(`SELECT 1 / 0`) }))
		},
		"cut off before": func(tx *Tx, _ func()) error { // and nobody minds
			queue(t, tx, "a")
			_, _ = tx.ExecContext(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid(), $1)`, 0)
			queue(t, tx, "b")
			return nil
		},
		"over before": func(tx *Tx, leave func()) error { queue(t, tx, "a"); leave(); return nil },
	} {
		ctx, leave := context.WithCancel(t.Context())
		err := s.Write(ctx, func(tx *Tx) error { return do(tx, leave) })
		leave()
		require.Error(t, err, name)
		_, unknown := errors.AsType[*UnknownError](err)
		assert.False(t, unknown, "%s: %v", name, err)
		assert.Zero(t, accounts(t, s), name)
	}
}

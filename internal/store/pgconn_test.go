package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const insertQueued = `INSERT INTO accounts (id, name, plan, created_at) VALUES ($1, $1, 'free', 0)`

// queue has an account inserted with the next statement.
func queue(t *testing.T, tx *Tx, id string) {
	t.Helper()
	require.NoError(t, tx.Queue(func(b *pgx.Batch) { b.Queue(insertQueued, id) }))
}

// one connection serves all transactions of a store, and nothing may be left of
// them on it.
func oneConnection(t *testing.T) *Store {
	t.Helper()
	b := onPostgres(t)
	b.opts.Database += "&pool_max_conns=1"
	return b.open(t)
}

// What is queued goes before the next statement, whichever way that comes.
func TestQueuedGoesBefore(t *testing.T) {
	t.Parallel()
	s := oneConnection(t)
	const count = `SELECT count(*) FROM accounts`
	inside := func(do func(context.Context, pgx.Tx, *int) error) func(*Tx, *int) error {
		return func(tx *Tx, n *int) error {
			return tx.Postgres(func(inner pgx.Tx) error { return do(t.Context(), inner, n) })
		}
	}
	for name, see := range map[string]func(*Tx, *int) error{
		"database/sql": func(tx *Tx, n *int) error { return tx.QueryRowContext(t.Context(), count).Scan(n) },
		"ExecContext": func(tx *Tx, n *int) error {
			result, err := tx.ExecContext(t.Context(), `UPDATE accounts SET plan = $1`, "pro")
			require.NoError(t, err)
			affected, err := result.RowsAffected()
			*n = int(affected)
			return err
		},
		"Soon": func(tx *Tx, n *int) error {
			return errors.Join(tx.Soon(t.Context(), n, count), tx.Flush(t.Context()))
		},
		"QueryRow": inside(func(ctx context.Context, tx pgx.Tx, n *int) error { return tx.QueryRow(ctx, count).Scan(n) }),
		"Query": inside(func(ctx context.Context, tx pgx.Tx, n *int) error {
			rows, err := tx.Query(ctx, count)
			require.NoError(t, err)
			*n, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
			return err
		}),
		"SendBatch": inside(func(ctx context.Context, tx pgx.Tx, n *int) error {
			b := &pgx.Batch{}
			b.Queue(count).QueryRow(func(row pgx.Row) error { return row.Scan(n) })
			return tx.SendBatch(ctx, b).Close()
		}),
		"Exec": inside(func(ctx context.Context, tx pgx.Tx, n *int) error {
			tag, err := tx.Exec(ctx, `UPDATE accounts SET plan = 'pro'`)
			*n = int(tag.RowsAffected())
			return err
		}),
	} {
		before, seen := accounts(t, s), 0
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
			queue(t, tx, name)
			require.NoError(t, see(tx, &seen), name)
			queue(t, tx, name+" with the commit")
			return nil
		}), name)
		assert.Equal(t, before+1, seen, name)
		assert.Equal(t, before+2, accounts(t, s), name)
	}
}

// Whatever goes wrong with a transaction that is begun late: nothing of it is there
// afterwards, nothing is run outside of it, and its connection serves the next one.
func TestNothingIsLeftOfTheQueued(t *testing.T) {
	t.Parallel()
	s := oneConnection(t)
	refused := errors.New("refused")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	// ignoring goes on after an error, as nobody should.
	ignoring := func(bad string, args ...any) func(context.Context, *Tx) error {
		return func(ctx context.Context, tx *Tx) error {
			queue(t, tx, "before")
			_ = tx.Queue(func(b *pgx.Batch) { b.Queue(bad, args...) })
			for range 2 {
				_ = insertAccount(context.WithoutCancel(ctx), tx, "after")
				_ = tx.Postgres(func(tx pgx.Tx) error {
					rows, err := tx.Query(context.WithoutCancel(ctx), insertQueued, "after")
					assert.Error(t, err)
					rows.Close()
					return rows.Err()
				})
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		ctx context.Context //nolint:containedctx // of a case
		do  func(context.Context, *Tx) error
		is  error
	}{
		"refused before it began": {t.Context(), func(_ context.Context, tx *Tx) error { queue(t, tx, "a"); return refused }, refused},
		"refused": {t.Context(), func(ctx context.Context, tx *Tx) error {
			queue(t, tx, "a")
			return errors.Join(tx.Flush(ctx), refused)
		}, refused},
		"a statement that fails":     {t.Context(), ignoring(insertQueued, "before"), nil},
		"a statement that can't be":  {t.Context(), ignoring(`INSERT INTO absent VALUES (1)`), nil},
		"a value that can't be sent": {t.Context(), ignoring(insertQueued, struct{}{}), nil},
		"over before it began":       {ended, func(context.Context, *Tx) error { return nil }, context.Canceled},
		"a statement that fails with the commit": {t.Context(), func(ctx context.Context, tx *Tx) error {
			queue(t, tx, "a")
			require.NoError(t, tx.Flush(ctx))
			queue(t, tx, "a")
			return nil
		}, nil},
		"a commit that fails behind another statement": {t.Context(), func(ctx context.Context, tx *Tx) error {
			_, err := tx.ExecContext(ctx, `CREATE TEMP TABLE once (x INT UNIQUE DEFERRABLE INITIALLY DEFERRED) ON COMMIT DROP; INSERT INTO once VALUES (1), (1)`)
			queue(t, tx, "a")
			return err
		}, nil},
		"a failure that nobody minded, before a commit with others": {t.Context(), func(ctx context.Context, tx *Tx) error {
			queue(t, tx, "a")
			_, err := tx.ExecContext(ctx, `INSERT INTO absent VALUES (1)`)
			require.Error(t, err)
			return tx.Queue(func(*pgx.Batch) {})
		}, nil},
		"what is read with the commit is not there": {t.Context(), func(ctx context.Context, tx *Tx) error {
			queue(t, tx, "a")
			require.NoError(t, tx.Flush(ctx))
			return tx.Soon(ctx, new(string), `SELECT name FROM accounts WHERE false`)
		}, pgx.ErrNoRows},
		"a statement that fails at commit": {t.Context(), func(_ context.Context, tx *Tx) error { queue(t, tx, "a"); queue(t, tx, "a"); return nil }, nil},
	} {
		err := s.Write(c.ctx, func(tx *Tx) error { return c.do(c.ctx, tx) })
		require.Error(t, err, name)
		if c.is != nil {
			require.ErrorIs(t, err, c.is, name)
		}
		assert.Zero(t, accounts(t, s), name)
		assert.Zero(t, unended(t, s), name)
	}
}

// Cut short while the server works, with what is queued and with what follows it.
func TestCutShort(t *testing.T) {
	t.Parallel()
	s := oneConnection(t)
	const asleep = `SELECT pg_sleep(60)`
	for name, do := range map[string]func(context.Context, *Tx) error{
		"queued": func(ctx context.Context, tx *Tx) error {
			_ = tx.Queue(func(b *pgx.Batch) { b.Queue(asleep) })
			return tx.Flush(ctx)
		},
		"next": func(ctx context.Context, tx *Tx) error {
			return tx.Postgres(func(tx pgx.Tx) error {
				rows, err := tx.Query(ctx, asleep)
				if err == nil {
					_, err = pgx.CollectRows(rows, pgx.RowTo[any])
				}
				return err
			})
		},
		"on a queue that is empty": func(ctx context.Context, tx *Tx) error {
			_, err := tx.ExecContext(ctx, asleep)
			return err
		},
		"with the commit": func(ctx context.Context, tx *Tx) error {
			return errors.Join(tx.Flush(ctx), tx.Queue(func(b *pgx.Batch) { b.Queue(asleep) }))
		},
		"while nothing is run": func(ctx context.Context, tx *Tx) error {
			err := tx.Flush(ctx)
			<-ctx.Done()
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := s.Write(ctx, func(tx *Tx) error {
			queue(t, tx, "a")
			return do(ctx, tx)
		})
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Zero(t, accounts(t, s), name)
		assert.Eventually(t, func() bool { return unended(t, s) == 0 }, time.Minute, 10*time.Millisecond, name)
		require.NoError(t, s.Write(t.Context(), func(tx *Tx) error { _, err := tx.ExecContext(t.Context(), `DELETE FROM accounts`); return err }), name)
	}
}

// unended counts the transactions that wait for their client.
func unended(t *testing.T, s *Store) (n int) {
	t.Helper()
	require.NoError(t, s.Reader().QueryRowContext(t.Context(), `
		SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE '%transaction%'`).Scan(&n))
	return n
}

// On SQLite nothing is queued, and what is to be read soon is read at once.
func TestSQLiteDoesNotQueue(t *testing.T) {
	t.Parallel()
	s := backend{t.TempDir(), DefaultOptions()}.open(t)
	require.NoError(t, s.Write(t.Context(), func(tx *Tx) error {
		n := -1
		require.NoError(t, tx.Soon(t.Context(), &n, `SELECT count(*) FROM accounts`))
		assert.Zero(t, n)
		require.ErrorIs(t, tx.Queue(func(*pgx.Batch) {}), errNotPostgres)
		return tx.Flush(t.Context())
	}))
}

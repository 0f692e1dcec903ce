package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	errNotPostgres = errors.New("the transaction is not one of PostgreSQL")
	errOutside     = errors.New("store: the transaction is ended by the store alone")
)

// Postgres runs fn on the transaction as the driver knows it, for a library that
// brings its own statements. fn must not end it, nor keep it. It fails on SQLite.
func (t *Tx) Postgres(fn func(pgx.Tx) error) error {
	return t.raw(func(c *queueing) error { return fn(inside{c}) })
}

// Queue lets add put statements into a batch that goes to the server with the next
// statement, or with Flush. An error of theirs is that one's, and what they return
// is read by then. Neither add nor what it sets to read it may use the transaction.
// It fails on SQLite.
func (t *Tx) Queue(add func(*pgx.Batch)) error {
	return t.raw(func(c *queueing) error {
		add(c.queue())
		return c.err
	})
}

// Soon reads the one value of a query into to: on SQLite at once, on PostgreSQL
// with the next statement or with Flush.
func (t *Tx) Soon(ctx context.Context, to any, query string, args ...any) error {
	if t.conn == nil {
		return t.QueryRowContext(ctx, query, args...).Scan(to)
	}
	return t.Queue(func(batch *pgx.Batch) {
		batch.Queue(query, args...).QueryRow(func(row pgx.Row) error { return row.Scan(to) })
	})
}

// Flush runs what is queued. On SQLite nothing ever is.
func (t *Tx) Flush(ctx context.Context) error {
	if t.conn == nil {
		return nil
	}
	return t.raw(func(c *queueing) error { return c.flush(ctx) })
}

// Begin runs what is queued unless the server has been told of the transaction before: then
// what was put into the queue behind BEGIN has been run, and what came later may wait.
func (t *Tx) Begin(ctx context.Context) error {
	if t.conn == nil {
		return nil
	}
	return t.raw(func(c *queueing) error {
		if c.tx != nil {
			return c.err
		}
		return c.flush(ctx)
	})
}

func (t *Tx) raw(fn func(*queueing) error) error {
	if t.conn == nil {
		return errNotPostgres
	}
	return t.conn.Raw(func(conn any) error { return fn(conn.(*queueing)) })
}

// inside is the transaction that a connection is in, begun through database/sql
// and ended there.
type inside struct{ conn *queueing }

// Begin implements pgx.Tx.
func (inside) Begin(context.Context) (pgx.Tx, error) { return nil, errOutside }

// Commit implements pgx.Tx.
func (inside) Commit(context.Context) error { return errOutside }

// Rollback implements pgx.Tx.
func (inside) Rollback(context.Context) error { return errOutside }

// LargeObjects implements pgx.Tx.
func (inside) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn implements pgx.Tx. What is run on it does not wait for what is queued.
func (i inside) Conn() *pgx.Conn { return i.conn.Conn.Conn() }

// Query implements pgx.Tx.
func (i inside) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	return i.conn.query(ctx, query, args)
}

// QueryRow implements pgx.Tx.
func (i inside) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	if err := i.conn.flush(ctx); err != nil {
		return noRow{err}
	}
	return i.Conn().QueryRow(ctx, query, args...)
}

// Exec implements pgx.Tx.
func (i inside) Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	if err := i.conn.flush(ctx); err != nil {
		return pgconn.CommandTag{}, err
	}
	return i.Conn().Exec(ctx, query, args...)
}

// Later is tx, which Postgres runs its function on, with an Exec that queues like Queue. What
// it returns says nothing.
func Later(tx pgx.Tx) pgx.Tx {
	if i, ok := tx.(inside); ok {
		return later{i}
	}
	return tx
}

type later struct{ inside }

// Exec implements pgx.Tx.
func (l later) Exec(_ context.Context, query string, args ...any) (pgconn.CommandTag, error) {
	l.conn.queue().Queue(query, args...)
	return pgconn.CommandTag{}, l.conn.err
}

// Prepare implements pgx.Tx.
func (i inside) Prepare(ctx context.Context, name, query string) (*pgconn.StatementDescription, error) {
	if err := i.conn.flush(ctx); err != nil {
		return nil, err
	}
	return i.Conn().Prepare(ctx, name, query)
}

// CopyFrom implements pgx.Tx.
func (i inside) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	if err := i.conn.flush(ctx); err != nil {
		return 0, err
	}
	return i.Conn().CopyFrom(ctx, table, columns, rows)
}

// SendBatch implements pgx.Tx.
func (i inside) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	if err := i.conn.flush(ctx); err != nil {
		return pgx.FailedBatchResults(batch, err)
	}
	return i.Conn().SendBatch(ctx, batch)
}

// noRow is a row that can't be had.
type noRow struct{ err error }

// Scan implements pgx.Row.
func (r noRow) Scan(...any) error { return r.err }

package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// A statement waits for its way to the server and back, which can take longer than
// what the server does. BEGIN, and what else is queued, therefore goes there with
// the statement after it.

// connector makes connections that do so.
type connector struct{ driver.Connector }

// openPool is stdlib.OpenDBFromPool. What ends a transaction gives its connection
// back to the pool, which discards it unless it is outside of one.
func openPool(pool *pgxpool.Pool) *sql.DB {
	db := sql.OpenDB(connector{stdlib.GetPoolConnector(pool)})
	db.SetMaxIdleConns(0)
	return db
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &queueing{Conn: conn.(*stdlib.Conn)}, nil
}

// queueing is a connection with statements that go before the next one.
type queueing struct {
	*stdlib.Conn

	queued *pgx.Batch
	tx     pgx.Tx
	err    error // nothing may be run any more: it could be outside of the transaction
}

// BeginTx implements driver.ConnBeginTx for the one kind of transaction there is.
func (c *queueing) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	switch {
	case c.Conn.Conn().IsClosed():
		return nil, driver.ErrBadConn
	case opts != driver.TxOptions{}:
		return nil, errors.New("store: transactions are read committed")
	}
	c.queued, c.tx, c.err = &pgx.Batch{}, nil, nil
	c.queued.BeginTx(pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	return begun{ctx, c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *queueing) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.err == nil && c.queued == nil || len(args) == 0 { // that may be several statements
		if err := c.flush(ctx); err != nil {
			return nil, err
		}
		return c.Conn.ExecContext(ctx, query, args)
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	rows, err := c.query(ctx, query, values)
	if err != nil {
		return nil, err
	}
	rows.Close()
	return driver.RowsAffected(rows.CommandTag().RowsAffected()), rows.Err()
}

// QueryContext implements driver.QueryerContext.
func (c *queueing) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	return c.Conn.QueryContext(ctx, query, args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *queueing) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	return c.Conn.PrepareContext(ctx, query)
}

// queue returns the statements that are to go with the next one, to add to them.
func (c *queueing) queue() *pgx.Batch {
	if c.queued == nil {
		c.queued = &pgx.Batch{}
	}
	return c.queued
}

// flush runs what is queued.
func (c *queueing) flush(ctx context.Context) error {
	if c.err == nil && c.queued != nil {
		c.err = c.send(ctx).Close()
	}
	return c.err
}

// query runs what is queued and one more, in one way there and back.
func (c *queueing) query(ctx context.Context, query string, args []any) (pgx.Rows, error) {
	switch {
	case c.err != nil:
		return pgx.FailedBatchResults(&pgx.Batch{}, c.err).Query()
	case c.queued == nil:
		return c.Conn.Conn().Query(ctx, query, args...)
	}
	before := c.queued.QueuedQueries
	c.queued.Queue(query, args...)
	results := c.send(ctx)
	for i := 0; i < len(before) && c.err == nil; i++ {
		if before[i].Fn == nil {
			_, c.err = results.Exec()
		} else {
			c.err = before[i].Fn(results)
		}
	}
	if c.err != nil {
		_ = results.Close() // it would say the same
		return pgx.FailedBatchResults(&pgx.Batch{}, c.err).Query()
	}
	rows, err := results.Query()
	if err != nil {
		c.err = err
		_ = results.Close()
	}
	return lastRows{rows, results}, err
}

// send empties the queue. The connection is busy until the results are closed.
func (c *queueing) send(ctx context.Context) pgx.BatchResults {
	results := c.Conn.Conn().SendBatch(ctx, c.queued)
	c.queued = nil
	if tx := results.Tx(); tx != nil {
		c.tx = tx
	}
	return results
}

// lastRows are what the last statement of a batch returns.
type lastRows struct {
	pgx.Rows

	results pgx.BatchResults
}

// Close implements pgx.Rows. An error of the end of the batch, after its last
// statement, is one of the connection, which does not outlive it.
func (r lastRows) Close() {
	r.Rows.Close()
	_ = r.results.Close()
}

// begun is a transaction of a connection, of which the server may know nothing yet.
type begun struct {
	ctx  context.Context //nolint:containedctx // the interface has none
	conn *queueing
}

// Commit implements driver.Tx.
func (b begun) Commit() error {
	defer b.end()
	if !b.conn.endsWithQueued() {
		if err := b.conn.flush(b.ctx); err != nil {
			return errors.Join(err, b.Rollback())
		}
		return b.conn.committed(b.ctx, b.conn.tx.Commit)
	}
	b.conn.queued.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() == "ROLLBACK" { // it had failed before
			return pgx.ErrTxCommitRollback
		}
		return nil
	})
	if err := b.conn.committed(b.ctx, b.conn.flush); err != nil {
		return errors.Join(err, b.Rollback())
	}
	return nil
}

// endsWithQueued says whether COMMIT may go with what is queued: where the transaction has been
// begun, and nobody looks at what these statements return, who might not want it then.
func (c *queueing) endsWithQueued() bool {
	return c.err == nil && c.tx != nil && c.queued != nil &&
		!slices.ContainsFunc(c.queued.QueuedQueries, func(q *pgx.QueuedQuery) bool { return q.Fn != nil })
}

// Rollback implements driver.Tx.
func (b begun) Rollback() error {
	defer b.end()
	if b.conn.tx == nil {
		return nil // nothing has been sent
	}
	if err := b.conn.tx.Rollback(b.ctx); !errors.Is(err, pgx.ErrTxClosed) {
		return err
	}
	return nil // it has not come to BEGIN
}

func (b begun) end() { b.conn.queued, b.conn.tx, b.conn.err = nil, nil, sql.ErrTxDone }

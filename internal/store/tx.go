package store

import (
	"context"
	"database/sql"
)

// Tx is a transaction of Write, which ends it. It is not safe for concurrent
// use. What it is told to run is compiled once for all transactions, so that texts
// should be constants.
type Tx struct {
	tx   *sql.Tx
	conn *sql.Conn // of PostgreSQL
}

// Lock keeps the other transactions that lock the row of table with this id
// waiting until this one ends. On SQLite they all wait anyway. A row that is not
// there is no error. The table is one of the schema's, never input.
func (t *Tx) Lock(ctx context.Context, table string, id any) error {
	if t.conn == nil {
		return nil
	}
	// The row's key stays free for the references that others add to it.
	_, err := t.tx.ExecContext(ctx, "SELECT FROM "+table+" WHERE id = $1 FOR NO KEY UPDATE", id) //nolint:gosec // never input
	return err
}

// ExecContext runs one statement, or several where there are no arguments.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext returns the rows of one statement. The caller closes them before
// it runs another.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext returns the first row of one statement.
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(ctx, query, args...)
}

// SQL is the transaction for a library that brings its own statements. It must
// not end it.
func (t *Tx) SQL() *sql.Tx { return t.tx }

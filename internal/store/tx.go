package store

import (
	"context"
	"database/sql"
	"sync"
)

// Tx is a transaction of Write, which ends it. It is not safe for concurrent
// use. Unlike *sql.Tx it compiles what it is told to run once for all
// transactions, which is a third of the time of a short one; the texts should
// therefore be constants.
type Tx struct {
	tx       *sql.Tx
	conn     *sql.Conn   // of PostgreSQL, whose driver compiles by itself
	compiled *statements // of SQLite
	missed   []string    // texts to compile once the connection is free
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
	if s := t.statement(ctx, query); s != nil {
		return s.ExecContext(ctx, args...)
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext returns the rows of one statement. The caller closes them before
// it runs another.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext returns the first row of one statement.
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// SQL is the transaction for a library that brings its own statements. It must
// not end it.
func (t *Tx) SQL() *sql.Tx { return t.tx }

// statement is the compiled query, or nil the first time.
func (t *Tx) statement(ctx context.Context, query string) *sql.Stmt {
	if t.compiled == nil {
		return nil
	}
	if s, ok := t.compiled.Load(query); ok {
		return t.tx.StmtContext(ctx, s.(*sql.Stmt))
	}
	t.missed = append(t.missed, query)
	return nil
}

// statements are what has been compiled, a *sql.Stmt for each text. They end
// with the connection.
type statements struct{ sync.Map }

// compile keeps the texts for later transactions. What does not compile, such as
// several statements at once, is left as it is: whoever runs it is told.
func (s *statements) compile(ctx context.Context, db *sql.DB, texts []string) {
	for _, text := range texts {
		compiled, err := db.PrepareContext(ctx, text)
		if err != nil {
			continue
		}
		if _, known := s.LoadOrStore(text, compiled); known {
			_ = compiled.Close() // somebody else was faster
		}
	}
}

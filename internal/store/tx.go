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
	compiled *statements
	missed   []string // texts to compile once the connection is free
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

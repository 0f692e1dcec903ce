package store

import (
	"context"
	"database/sql"
)

// Reader runs single statements that change nothing. Like a Tx it compiles the
// texts of SQLite once, so that they should be constants. It is safe for concurrent
// use.
type Reader struct {
	*sql.DB

	compiled *statements // of SQLite; PostgreSQL's driver compiles by itself
}

// QueryContext returns the rows of one statement. The caller closes them.
func (r *Reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := r.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return r.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext returns the first row of one statement.
func (r *Reader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := r.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return r.DB.QueryRowContext(ctx, query, args...)
}

// statement is the compiled query, or nil where it does not compile.
func (r *Reader) statement(ctx context.Context, query string) *sql.Stmt {
	if r.compiled == nil {
		return nil
	}
	s, ok := r.compiled.Load(query)
	if !ok {
		r.compiled.compile(ctx, r.DB, []string{query})
		if s, ok = r.compiled.Load(query); !ok {
			return nil
		}
	}
	return s.(*sql.Stmt)
}

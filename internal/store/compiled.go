package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

// Compiling a text takes SQLite longer than running it, and database/sql keeps what is
// compiled only for those who ask for it, which libraries don't. So connections keep it.

// compiledMost is how many texts a connection keeps compiled, some kilobytes each. It is
// more than there are, unless somebody makes up texts as he goes.
const compiledMost = 256

// openCompiled is sql.Open for SQLite, with connections that compile each text once.
func openCompiled(dsn string) (*sql.DB, error) {
	plain, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(compiling{plain}), nil
}

// compiling makes connections.
type compiling struct{ driver.Connector }

// Connect implements driver.Connector.
func (c compiling) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	plain, ok := conn.(sqliteConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver of SQLite gives a %T", conn), conn.Close())
	}
	return &compiled{sqliteConn: plain, idle: map[string]sqliteStmt{}}, nil
}

// sqliteConn is what database/sql asks of a connection.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteStmt is a compiled text. It runs once at a time.
type sqliteStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// compiled is a connection. Like any it is used by one goroutine at a time.
type compiled struct {
	sqliteConn

	idle map[string]sqliteStmt // by text
}

// ExecContext implements driver.ExecerContext.
func (c *compiled) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	if actsWhenCompiled(text) {
		return c.sqliteConn.ExecContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	return result, c.give(text, s, err)
}

// QueryContext implements driver.QueryerContext.
func (c *compiled) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if actsWhenCompiled(text) {
		return c.sqliteConn.QueryContext(ctx, text, args)
	}
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, c.give(text, s, err)
	}
	return &compiledRows{Rows: rows, conn: c, text: text, stmt: s}, nil
}

// actsWhenCompiled says whether running a text again would do nothing: some pragmas, such as
// the one that says when to sync, do all they do as they are compiled.
func actsWhenCompiled(text string) bool {
	const pragma = "PRAGMA"
	text = strings.TrimSpace(text)
	return len(text) >= len(pragma) && strings.EqualFold(text[:len(pragma)], pragma)
}

// take is what nobody runs at the moment: of a text whose rows are still being read
// another one.
func (c *compiled) take(ctx context.Context, text string) (sqliteStmt, error) {
	if s, ok := c.idle[text]; ok {
		delete(c.idle, text)
		return s, nil
	}
	s, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	known, ok := s.(sqliteStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver of SQLite compiles a %T", s), s.Close())
	}
	return known, nil
}

// give keeps what take took, unless running it failed, which is the error then.
func (c *compiled) give(text string, s sqliteStmt, failed error) error {
	if failed != nil {
		_ = s.Close() // it would say the same
		return failed
	}
	if _, other := c.idle[text]; other {
		return s.Close()
	}
	var err error
	if len(c.idle) == compiledMost {
		for one, old := range c.idle { // any
			delete(c.idle, one)
			err = old.Close()
			break
		}
	}
	c.idle[text] = s
	return err
}

// Close implements driver.Conn.
func (c *compiled) Close() error {
	var errs []error
	for _, s := range c.idle {
		errs = append(errs, s.Close())
	}
	clear(c.idle)
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

// compiledRows give what they come from back when they are closed.
type compiledRows struct {
	driver.Rows

	conn *compiled
	text string
	stmt sqliteStmt
}

// Close implements driver.Rows.
func (r *compiledRows) Close() error {
	s := r.stmt
	if s == nil { // closed before: another may have what they came from
		return nil
	}
	r.stmt = nil
	return r.conn.give(r.text, s, r.Rows.Close())
}

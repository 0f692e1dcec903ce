package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// Postgres runs fn on the transaction as the driver knows it, for a library that
// brings its own statements. fn must not end it, nor keep it. It fails on SQLite.
func (t *Tx) Postgres(fn func(pgx.Tx) error) error {
	if t.conn == nil {
		return errors.New("the transaction is not one of PostgreSQL")
	}
	return t.conn.Raw(func(driver any) error { return fn(inside{driver.(*stdlib.Conn).Conn()}) })
}

type connection = pgx.Conn

// inside is the transaction that a connection is in, begun through database/sql
// and ended there.
type inside struct{ *connection }

var errOutside = errors.New("store: the transaction is ended by the store alone")

// Begin implements pgx.Tx.
func (inside) Begin(context.Context) (pgx.Tx, error) { return nil, errOutside }

// Commit implements pgx.Tx.
func (inside) Commit(context.Context) error { return errOutside }

// Rollback implements pgx.Tx.
func (inside) Rollback(context.Context) error { return errOutside }

// LargeObjects implements pgx.Tx.
func (inside) LargeObjects() pgx.LargeObjects { return pgx.LargeObjects{} }

// Conn implements pgx.Tx.
func (i inside) Conn() *pgx.Conn { return i.connection }

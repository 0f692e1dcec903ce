package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// UnknownError says that the connection to PostgreSQL broke while COMMIT was on its way
// there or its answer on the way back: the transaction has taken effect, or has not, or
// will as soon as the server reads what it was sent. Until then its locks are held:
// whoever gets one of them finds its rows, or never will.
type UnknownError struct{ Err error }

// Error is a sentence for the log.
func (e *UnknownError) Error() string {
	return "nobody knows whether the transaction took effect: " + e.Err.Error()
}

// Unwrap is what broke the connection.
func (e *UnknownError) Unwrap() error { return e.Err }

// committed has commit send a COMMIT, and makes an UnknownError of its error where the
// connection broke meanwhile, unless the server had refused. A server's last words before
// it ends the connection are no refusal: it may have committed before. What pgx takes for
// safe to retry may have been sent: where an answer ends at once it says "conn closed".
func (c *queueing) committed(ctx context.Context, commit func(context.Context) error) error {
	sent := ctx.Err() == nil && !c.Conn.Conn().IsClosed()
	err := commit(ctx)
	said, _ := errors.AsType[*pgconn.PgError](err)
	refused := said != nil && said.SeverityUnlocalized == "ERROR"
	if err == nil || !sent || refused || !c.Conn.Conn().IsClosed() {
		return err
	}
	return &UnknownError{err}
}

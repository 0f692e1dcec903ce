package job

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"deepfaked/internal/store"
)

// postgres is River's driver whose notices to other processes, within a transaction of the
// books, go to the server with the statement after them.
type postgres struct{ *riverpgxv5.Driver }

// UnwrapExecutor implements riverdriver.Driver.
func (p *postgres) UnwrapExecutor(tx pgx.Tx) riverdriver.ExecutorTx {
	return notifying{p.Driver.UnwrapExecutor(tx), p.Driver.UnwrapExecutor(store.Later(tx))}
}

// UnwrapTx implements riverdriver.Driver.
func (p *postgres) UnwrapTx(tx riverdriver.ExecutorTx) pgx.Tx {
	if n, ok := tx.(notifying); ok {
		tx = n.ExecutorTx
	}
	return p.Driver.UnwrapTx(tx)
}

type notifying struct {
	riverdriver.ExecutorTx
	later riverdriver.Executor
}

// NotifyMany implements riverdriver.Executor.
func (n notifying) NotifyMany(ctx context.Context, params *riverdriver.NotifyManyParams) error {
	return n.later.NotifyMany(ctx, params)
}

package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"deepfaked/internal/store"
)

// Withdraw is Release for a submission that the service failed, or turned away after
// all because it had no room for it: the day does not count it either. Nor does the plan
// where it was settled and the answer of the database was lost, as its client is told of
// no result. Like Release it is not for a detection that is being settled.
func (l *Ledger) Withdraw(ctx context.Context, id string) error {
	if l.own.drop(id) {
		return nil
	}
	if err := l.end(ctx, id, l.withdrawal(id)); err != nil {
		return fmt.Errorf("withdraw %s: %w", id, err)
	}
	return nil
}

// withdrawal leaves nothing of a detection, whatever has come of it.
func (l *Ledger) withdrawal(id string) ending {
	return func(ctx context.Context, tx *store.Tx) error {
		if err := l.afterItBegan(tx, id); err != nil {
			return err
		}
		var account string
		var created int64
		var state State
		var period sql.NullInt64
		err := tx.QueryRowContext(ctx, `DELETE FROM detections WHERE id = $1 RETURNING account_id, created_at, state, period`, id).
			Scan(&account, &created, &state, &period)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		err = l.giveDayBack(ctx, tx, account, fromMicros(created))
		if err != nil || state != Complete {
			return err
		}
		return uncount(ctx, tx, account, period)
	}
}

// uncount takes back a scan of a period. By the account's plan it can't be told which one
// that was: the plan may have been changed since then.
func uncount(ctx context.Context, tx *store.Tx, account string, period sql.NullInt64) error {
	_, err := tx.ExecContext(ctx, `UPDATE scans SET count = count - 1 WHERE account_id = $1 AND period = $2 AND count > 0`, account, period)
	return err
}

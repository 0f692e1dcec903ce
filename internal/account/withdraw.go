package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"deepfaked/internal/store"
)

// Withdraw is Release for a submission that the service failed, or turned away after
// all because it had no room for it: the day does not count it either. Like Release it
// is not for a detection that is being settled.
func (l *Ledger) Withdraw(ctx context.Context, id string) error {
	if l.own.drop(id) {
		return nil
	}
	err := l.end(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		if err := l.afterItBegan(tx, id); err != nil {
			return err
		}
		var account string
		var created int64
		err := tx.QueryRowContext(ctx, `
			DELETE FROM detections WHERE id = $1 AND state = 'processing' RETURNING account_id, created_at`,
			id).Scan(&account, &created)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE submissions SET count = count - 1 WHERE account_id = $1 AND day = $2`,
			account, dayNumber(fromMicros(created)))
		return err
	})
	if err != nil {
		return fmt.Errorf("withdraw %s: %w", id, err)
	}
	return nil
}

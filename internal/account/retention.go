package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// Interrupted is what the client of a job reads that a restart has ended.
const Interrupted = "The service was restarted before the analysis finished; submit the file again."

// Recover cleans up after a process that ended without warning: asynchronous
// detections still processing have failed (Interrupted), synchronous ones are
// taken out, and every place is released. It returns how many detections it
// ended. It must run before the first Reserve and while no other process serves
// the same folder: work that is still running would be declared dead.
func (l *Ledger) Recover(ctx context.Context, now time.Time) (int, error) {
	var n int64
	err := l.store.Write(ctx, func(tx *store.Tx) error {
		_, released := tx.ExecContext(ctx, `DELETE FROM reservations`)
		failed, err1 := affected(tx.ExecContext(ctx, `
			UPDATE detections SET state = 'failed', error = $1, completed_at = $2
			WHERE state = 'processing' AND mode = 'async'`, Interrupted, micros(now)))
		gone, err2 := affected(tx.ExecContext(ctx, `DELETE FROM detections WHERE state = 'processing'`))
		n = failed + gone
		return errors.Join(released, err1, err2)
	})
	if err != nil {
		return 0, fmt.Errorf("recover: %w", err)
	}
	return int(n), nil
}

// purgeBatch bounds a deletion, so that requests get their turn in between.
const purgeBatch = 500

// Purge deletes the detections that ended longer than olderThan ago, and the
// counts of past days. It returns how many detections it deleted, also when it
// fails or is cancelled half way. Scans stay counted.
func (l *Ledger) Purge(ctx context.Context, olderThan time.Duration) (int, error) {
	now := l.now()
	total := 0
	for {
		var n int64
		err := l.store.Write(ctx, func(tx *store.Tx) error {
			var err error
			n, err = affected(tx.ExecContext(ctx, `
				DELETE FROM detections WHERE id IN (
				  SELECT id FROM detections WHERE completed_at < $1 ORDER BY completed_at LIMIT $2)`,
				micros(now.Add(-olderThan)), purgeBatch))
			return err
		})
		total += int(n)
		if err != nil {
			return total, fmt.Errorf("purge results: %w", err)
		}
		if n < purgeBatch {
			return total, l.purgeDays(ctx, now)
		}
	}
}

// purgeDays forgets the submissions of days that no clock will step back to.
func (l *Ledger) purgeDays(ctx context.Context, now time.Time) error {
	err := l.store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM submissions WHERE day < $1`, dayNumber(now)-7)
		return err
	})
	if err != nil {
		return fmt.Errorf("purge daily counts: %w", err)
	}
	return nil
}

func affected(result sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

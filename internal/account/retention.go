package account

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// Recover cleans up after processes that ended without warning: synchronous
// detections that they left processing are taken out, and their places released.
// It returns how many. Asynchronous ones go on: their jobs know where they stand.
// It can run at any time, and needs Options.Process.
func (l *Ledger) Recover(ctx context.Context) (int, error) {
	var n int64
	err := l.process.Inherit(ctx, func(tx *store.Tx) (err error) {
		// The reservations go with them (ON DELETE CASCADE).
		n, err = affected(tx.ExecContext(ctx, `
			DELETE FROM detections WHERE state = 'processing' AND mode = 'sync'
			AND id NOT IN (SELECT detection_id FROM reservations WHERE process IN (`+l.store.AtWork()+`))
			AND NOT (`+l.store.Lately("to_timestamp(created_at / 1e6)")+`)`))
		return err
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
// fails or is cancelled half way. Scans stay counted. The error is a *LeapError while
// the clock may be wrong: it is to be called at least once a day.
func (l *Ledger) Purge(ctx context.Context, olderThan time.Duration) (int, error) {
	now := l.now()
	if err := l.believe(ctx, now); err != nil {
		return 0, fmt.Errorf("purge results: %w", err)
	}
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

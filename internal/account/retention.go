package account

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"deepfaked/internal/store"
)

// Recover cleans up after processes that ended without warning: synchronous
// detections that they left processing are taken out, their places released, and the
// days give them back. It returns how many. Asynchronous ones go on: their jobs know
// where they stand. It can run at any time, and needs Options.Process.
func (l *Ledger) Recover(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, l.work)
	defer cancel()
	var left []abandoned
	err := l.process.Inherit(ctx, func(tx *store.Tx) (err error) {
		left = nil // of a try that was in the way of others
		if left, err = l.takeOut(ctx, tx); err != nil {
			return err
		}
		for _, a := range left {
			err = errors.Join(err, l.giveDayBack(ctx, tx, a.account, a.created))
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("recover: %w", err)
	}
	return len(left), nil
}

// abandoned is a synchronous detection whose process is no longer at work.
type abandoned struct {
	account string
	created time.Time
}

// takeOut deletes all of them, and returns them by account, so that two who change the
// days of several accounts do it in the same order.
func (l *Ledger) takeOut(ctx context.Context, tx *store.Tx) (left []abandoned, err error) {
	// The reservations go with them (ON DELETE CASCADE).
	rows, err := tx.QueryContext(ctx, `
		DELETE FROM detections WHERE state = 'processing' AND mode = 'sync'
		AND id NOT IN (SELECT detection_id FROM reservations WHERE process IN (`+l.store.AtWork()+`))
		AND NOT (`+l.store.Lately("to_timestamp(created_at / 1e6)")+`) RETURNING account_id, created_at`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var a abandoned
		var created int64
		if err := rows.Scan(&a.account, &created); err != nil {
			return nil, err
		}
		a.created = fromMicros(created)
		left = append(left, a)
	}
	slices.SortFunc(left, func(a, b abandoned) int { return cmp.Compare(a.account, b.account) })
	return left, rows.Err()
}

// giveDayBack has the day on which a submission was accepted not count it, unless by the
// account's plan it never did. Nothing tells by which plan it was accepted: where that has
// been changed since then, the day may be off by it, but never below nothing.
func (l *Ledger) giveDayBack(ctx context.Context, tx *store.Tx, account string, accepted time.Time) error {
	var plan string
	err := tx.QueryRowContext(ctx, `SELECT plan FROM accounts WHERE id = $1`, account).Scan(&plan)
	if err != nil || l.plans[plan].Daily == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE submissions SET count = count - 1 WHERE account_id = $1 AND day = $2 AND count > 0`,
		account, dayNumber(accepted))
	return err
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
		err := l.write(ctx, func(ctx context.Context, tx *store.Tx) error {
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
	err := l.write(ctx, func(ctx context.Context, tx *store.Tx) error {
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

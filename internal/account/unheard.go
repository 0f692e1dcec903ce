package account

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"deepfaked/internal/store"
)

// Where the connection breaks while the commit of a place is on its way, or its answer,
// the books are asked what has come of it. An error would be wrong: there may be a job,
// which runs and counts.

// lookAgain is the time between two questions while the database does not answer.
const lookAgain = 100 * time.Millisecond

// IsUnknown says of an error of ReserveAll, SettleAll or Fail that nobody knows yet whether it was done.
func IsUnknown(err error) bool {
	_, unknown := errors.AsType[*store.UnknownError](err)
	return unknown
}

// hear is nil where err leaves open whether the places of all were reserved, and the
// books have them. Where they don't, nor ever will, it is an error like others, and an
// *store.UnknownError only if the database does not say so for as long as a client waits.
func (l *Ledger) hear(ctx context.Context, all []Request, err error) error {
	unknown, ok := errors.AsType[*store.UnknownError](err)
	if !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.look)
	defer cancel()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		there, failed := l.areReserved(ctx, all)
		switch {
		case failed == nil && there:
			return nil
		case failed == nil:
			return unknown.Err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, failed)
		case <-ticker.C:
		}
	}
}

// areReserved says whether all of them are in the books, of PostgreSQL, once the
// transaction that reserves them has ended. It was all of them or none.
func (l *Ledger) areReserved(ctx context.Context, all []Request) (there bool, err error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.Submission.ID
	}
	err = l.store.WriteUnsynced(ctx, func(tx *store.Tx) error {
		queued := tx.Queue(func(batch *pgx.Batch) {
			batch.Queue(lockDetections, ids)
			// A statement of its own: it sees what was committed when it begins. A standby,
			// which may not know of that yet, refuses to lock rows.
			batch.Queue(`SELECT count(*) > 0 FROM (SELECT FROM detections WHERE id = ANY ($1::text[]) FOR KEY SHARE) AS found`, ids).
				QueryRow(func(row pgx.Row) error { return row.Scan(&there) })
		})
		return errors.Join(queued, tx.Flush(ctx))
	})
	return there, err
}

// disown has Retry take out what may have been accepted, as its clients are told that it
// was not.
func (l *Ledger) disown(all []Request) {
	for _, r := range all {
		l.owed.add(r.Submission.ID, l.withdrawal(r.Submission.ID))
	}
}

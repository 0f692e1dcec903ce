package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"deepfaked/internal/store"
)

// On PostgreSQL each statement is a way to the server and back, and while an
// account is locked its other clients wait. What SQLite does in several statements
// is therefore one here.

// takePlace is room and accept, queued: it locks the account, so that the next one
// counts this place, and accepts what there is room for. What it returns says
// whether there was, once that has been run.
func takePlace(tx *store.Tx, a Account, s Submission, holder sql.NullString, now time.Time) (fits func() error, err error) {
	var submitted, taken int
	err = tx.Queue(func(batch *pgx.Batch) {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0)), pg_advisory_xact_lock(hashtextextended($2, 1))`, a.ID, s.ID)
		// A statement of its own: it sees what was committed when it begins.
		batch.Queue(`
			WITH room AS (`+placesTaken+`),
			fits AS (SELECT FROM room WHERE ($4 = 0 OR submitted < $4) AND taken < $5),
			counted AS (
			  INSERT INTO submissions (account_id, day, count) SELECT $1, $2, 1 FROM fits WHERE $4 > 0
			  ON CONFLICT (account_id, day) DO UPDATE SET count = submissions.count + 1),
			noted AS (
			  INSERT INTO detections (id, account_id, mode, state, sensitivity, created_at, period)
			  SELECT $6, $1, $7, 'processing', $8, $9, $3 FROM fits),
			held AS (
			  INSERT INTO reservations (detection_id, account_id, period, process) SELECT $6, $1, $3, $10 FROM fits)
			SELECT submitted, taken FROM room`,
			a.ID, dayNumber(now), micros(a.Plan.PeriodStart(now, a.Created)), a.Plan.Daily, a.Plan.Scans,
			s.ID, s.mode(), s.Sensitivity, micros(now), holder).
			QueryRow(func(row pgx.Row) error { return row.Scan(&submitted, &taken) })
	})
	return func() error { return a.Plan.fits(submitted, taken, now) }, err
}

// afterItBegan waits for the transaction that reserves a place, if it has not ended: its
// caller may have lost the connection while the commit was on its way.
func (l *Ledger) afterItBegan(tx *store.Tx, id string) error {
	if l.store.Postgres() == nil {
		return nil
	}
	return tx.Queue(func(batch *pgx.Batch) { batch.Queue(lockDetections, []string{id}) })
}

// lockDetections locks the ids of what is reserved, as takePlace does.
const lockDetections = `SELECT pg_advisory_xact_lock(hashtextextended(id, 1)) FROM unnest($1::text[]) AS id`

// settleAtOnce completes a detection that is processing, and reports whether it
// was.
func settleAtOnce(ctx context.Context, tx *store.Tx, d *Detection) (was bool, err error) {
	var created int64
	queued := tx.Queue(func(batch *pgx.Batch) {
		batch.Queue(settleOne, d.Kind, d.Verdict, d.Confidence, nullJSON(d.Report), micros(d.Completed), d.ID).Query(func(rows pgx.Rows) error {
			was = rows.Next()
			if !was {
				return rows.Err()
			}
			return rows.Scan(&d.Async, &d.Sensitivity, &created)
		})
	})
	if err := errors.Join(queued, tx.Flush(ctx)); err != nil {
		return false, fmt.Errorf("store the outcome: %w", err)
	}
	if was {
		d.State, d.Created = Complete, fromMicros(created)
	}
	return was, nil
}

const settleOne = `
	WITH stored AS (
	  UPDATE detections SET state = 'complete', kind = $1, verdict = $2, confidence = $3, report = $4, completed_at = $5
	  WHERE id = $6 AND state = 'processing' RETURNING id, mode, sensitivity, created_at),
	released AS (
	  DELETE FROM reservations WHERE detection_id IN (SELECT id FROM stored) RETURNING account_id, period),
	counted AS (
	  INSERT INTO scans (account_id, period, count) SELECT account_id, period, 1 FROM released
	  ON CONFLICT (account_id, period) DO UPDATE SET count = scans.count + 1)
	SELECT mode = 'async', sensitivity, created_at FROM stored`

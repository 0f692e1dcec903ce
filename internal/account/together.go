package account

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"deepfaked/internal/store"
)

// Several submissions, or several ends, in the statements of one. A process that
// hangs with one's lock keeps its own account waiting and no other: several give
// up soon, and each waits alone.
const notForLong = `SET LOCAL lock_timeout = '250ms'`

// reserveWith takes places for jobs along with the first statement of also, in one
// way there and back: the account is locked to the end, and the more ways there are
// until then, the longer its other clients wait.
func (l *Ledger) reserveWith(ctx context.Context, tx *store.Tx, all []Request, also []Step, now time.Time) error {
	var fits func() error
	var err error
	if len(all) > 1 {
		fits, err = takePlaces(tx, all, now)
	} else {
		fits, err = takePlace(tx, all[0].Account, all[0].Submission, l.holder(all[0].Submission), now)
	}
	if err != nil {
		return err
	}
	if err := steps(ctx, tx, also); err != nil {
		return err
	}
	if err := tx.Begin(ctx); err != nil { // what the steps have left in the queue goes with the commit
		return err
	}
	return fits()
}

// takePlaces is takePlace for several jobs, if there is room for all of them.
func takePlaces(tx *store.Tx, all []Request, now time.Time) (fits func() error, err error) {
	n := len(all)
	ids, accounts, sensitivities := make([]string, n), make([]string, n), make([]string, n)
	periods, daily, scans := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, r := range all {
		ids[i], accounts[i], sensitivities[i] = r.Submission.ID, r.Account.ID, r.Submission.Sensitivity
		periods[i], daily[i], scans[i] = micros(r.Account.Plan.PeriodStart(now, r.Account.Created)), int64(r.Account.Plan.Daily), int64(r.Account.Plan.Scans)
	}
	locks := slices.Compact(slices.Sorted(slices.Values(accounts))) // in one order everywhere: nobody waits in a circle
	var fit bool
	err = tx.Queue(func(batch *pgx.Batch) {
		batch.Queue(notForLong)
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended(id, 0)) FROM unnest($1::text[]) AS id`, locks)
		batch.Queue(lockDetections, ids)
		batch.Queue(takeAll, ids, accounts, sensitivities, periods, daily, scans, dayNumber(now), micros(now)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&fit) })
	})
	return func() error {
		if !fit {
			return errTogether
		}
		return nil
	}, err
}

// takeAll accepts them and says whether there was room; without it the
// transaction must be rolled back.
const takeAll = `
	WITH asked AS (
	  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
	  AS asked (id, account_id, sensitivity, period, daily, scans)),
	places AS (
	  SELECT account_id, period, daily, scans, count(*) AS n FROM asked GROUP BY account_id, period, daily, scans),
	counted AS (
	  INSERT INTO submissions (account_id, day, count) SELECT account_id, $7::bigint, n FROM places WHERE daily > 0 ORDER BY account_id
	  ON CONFLICT (account_id, day) DO UPDATE SET count = submissions.count + excluded.count),
	noted AS (
	  INSERT INTO detections (id, account_id, mode, state, sensitivity, created_at, period)
	  SELECT id, account_id, 'async', 'processing', sensitivity, $8::bigint, period FROM asked),
	held AS (
	  INSERT INTO reservations (detection_id, account_id, period) SELECT id, account_id, period FROM asked)
	SELECT count(*) = count(DISTINCT account_id) AND bool_and(
	  (daily = 0 OR n + coalesce((SELECT count FROM submissions s WHERE s.account_id = p.account_id AND day = $7), 0) <= daily)
	  AND n + coalesce((SELECT count FROM scans s WHERE s.account_id = p.account_id AND s.period = p.period), 0)
	    + (SELECT count(*) FROM reservations r WHERE r.account_id = p.account_id AND r.period = p.period) <= scans)
	FROM places p`

// settleTogether settles those that are processing, and returns the others.
func settleTogether(ctx context.Context, tx *store.Tx, all []Ended, now time.Time) ([]Ended, error) {
	n := len(all)
	ids, kinds, verdicts := make([]string, n), make([]string, n), make([]string, n)
	confidences, reports := make([]float64, n), make([]sql.NullString, n)
	for i, e := range all {
		o := e.Outcome
		ids[i], kinds[i], verdicts[i], confidences[i] = e.ID, o.Kind, o.Verdict, o.Confidence
		reports[i] = nullJSON(o.Report)
	}
	var done []string
	queued := tx.Queue(func(batch *pgx.Batch) {
		batch.Queue(notForLong)
		batch.Queue(settleEach, ids, kinds, verdicts, confidences, reports, micros(now)).Query(func(rows pgx.Rows) (err error) {
			done, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		})
	})
	if err := errors.Join(queued, tx.Flush(ctx)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(e Ended) bool { return slices.Contains(done, e.ID) }), nil
}

// settleEach locks them in one order, whatever the plan: another process may be
// settling the same ones.
const settleEach = `
	WITH ended AS (
	  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[]) AS ended (id, kind, verdict, confidence, report)),
	locked AS (
	  SELECT id FROM detections WHERE id = ANY ($1::text[]) AND state = 'processing' ORDER BY id FOR UPDATE),
	stored AS (
	  UPDATE detections d SET state = 'complete', kind = e.kind, verdict = e.verdict, confidence = e.confidence, report = e.report, completed_at = $6
	  FROM ended e JOIN locked USING (id) WHERE d.id = e.id RETURNING d.id),
	released AS (
	  DELETE FROM reservations WHERE detection_id IN (SELECT id FROM stored) RETURNING account_id, period),
	counted AS (
	  INSERT INTO scans (account_id, period, count) SELECT account_id, period, count(*) FROM released GROUP BY account_id, period ORDER BY account_id, period
	  ON CONFLICT (account_id, period) DO UPDATE SET count = scans.count + excluded.count)
	SELECT id FROM stored`

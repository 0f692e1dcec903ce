package job

import (
	"context"
	"encoding/json"
	"time"

	"deepfaked/internal/store"
)

// Jobs are run oldest first. By that alone who hands in a hundred films would keep
// everybody else waiting until the last of them is done: so only the oldest few of each
// account go by age, the rest of it behind them, and nothing for long.
const (
	inFront = 4               // of an account's jobs that wait
	overdue = 5 * time.Minute // then it has waited for long enough
)

// order has River take the jobs that wait in that order. It writes what has changed only.
func (r *Runner) order(ctx context.Context, tx *store.Tx) error {
	_, err := tx.ExecContext(ctx, `
		WITH waiting AS (
		  SELECT id, CASE WHEN scheduled_at > `+r.words.in(-overdue)+` AND
		      row_number() OVER (PARTITION BY args->>'account' ORDER BY scheduled_at, id) > $1 THEN 2 ELSE 1 END AS due
		  FROM river_job WHERE state = 'available')
		UPDATE river_job SET priority = due FROM waiting WHERE waiting.id = river_job.id AND due <> priority`, inFront)
	return err
}

// fallIn puts jobs that were just inserted behind those of their account that wait
// already, unless these are few and all in front: otherwise the youngest would overtake
// them until order is called next, and go on doing so as more come.
func (r *Runner) fallIn(ctx context.Context, tx *store.Tx, ids []int64) error {
	list, err := json.Marshal(ids)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, r.words.fallIn(), inFront, string(list))
	return err
}

// fallIn puts those of $2 behind that have $1 of their account before them, or one that
// is behind. It looks at no more than $1 of those: to number all that wait took as long
// as all the rest of an acceptance together where a thousand did.
func (w words) fallIn() string {
	return `
		UPDATE river_job SET priority = 2 WHERE id IN (` + w.listed + `) AND (
		  SELECT count(*) = $1 OR max(priority) = 2 FROM (
		    SELECT older.priority FROM river_job AS older
		    WHERE older.state = 'available' AND older.args->>'account' = river_job.args->>'account'
		      AND (older.scheduled_at, older.id) < (river_job.scheduled_at, river_job.id) LIMIT $1) AS few)`
}

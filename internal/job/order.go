package job

import (
	"context"
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

// order has River take the jobs that wait in that order. Those accepted since the last
// time are in front. It writes what has changed only.
func (r *Runner) order(ctx context.Context, tx *store.Tx) error {
	_, err := tx.ExecContext(ctx, `
		WITH waiting AS (
		  SELECT id, priority, CASE WHEN scheduled_at > `+r.words.in(-overdue)+` AND
		      row_number() OVER (PARTITION BY args->>'account' ORDER BY scheduled_at, id) > $1 THEN 2 ELSE 1 END AS due
		  FROM river_job WHERE state = 'available')
		UPDATE river_job SET priority = (SELECT due FROM waiting WHERE waiting.id = river_job.id)
		WHERE id IN (SELECT id FROM waiting WHERE due <> priority)`, inFront)
	return err
}

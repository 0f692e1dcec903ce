package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"deepfaked/inference"
	"deepfaked/internal/store"
)

// ErrFull says that no more jobs may wait.
var ErrFull = errors.New("the queue of jobs is full")

// ErrShare says that no more jobs of this account may wait: as many of it do as there are
// places left. So one account alone has half of the queue, two have a third each, and
// there is always room for another (the dynamic thresholds of Choudhury and Hahne, 1998).
var ErrShare = errors.New("as many jobs of the account wait as there are places left")

// countWaiting counts the jobs that wait, up to $1, of each account.
const countWaiting = `
	SELECT coalesce(args->>'account', '') AS account, count(*) AS n FROM (
	  SELECT args FROM river_job WHERE state IN ('available', 'retryable', 'scheduled') LIMIT $1) AS waiting GROUP BY 1`

// insert queues jobs unless the queue has no room for all of them.
func (r *Runner) insert(ctx context.Context, tx *store.Tx, jobs []detection) error {
	waiting := "{}" // on PostgreSQL until the jobs are there: it is counted in the same way there and back
	if err := tx.Soon(ctx, &waiting, r.words.object(countWaiting), r.opts.Queue); err != nil {
		return fmt.Errorf("count the jobs that wait: %w", err)
	}
	if _, err := r.admit(waiting, jobs); err != nil {
		return err
	}
	ids, err := r.queue.insert(ctx, tx, jobs)
	crowded, full := r.admit(waiting, jobs)
	if full != nil {
		return full
	}
	if err == nil && crowded {
		err = r.fallIn(ctx, tx, ids)
	}
	if err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	return nil
}

// admit refuses jobs beside those that wait of each account, in JSON. It says whether
// there are others of an account for which some may have to fall in behind them.
func (r *Runner) admit(waiting string, jobs []detection) (crowded bool, err error) {
	accounts := map[string]int{}
	if err := json.Unmarshal([]byte(waiting), &accounts); err != nil {
		return false, fmt.Errorf("count the jobs that wait: %w", err)
	}
	left := r.opts.Queue
	for _, n := range accounts {
		left -= n
	}
	for _, j := range jobs {
		err := ErrFull
		if accounts[j.Account] < left {
			crowded = crowded || accounts[j.Account] > 0
			accounts[j.Account]++
			left--
			continue
		}
		if left > 0 {
			err = ErrShare
		}
		return false, fmt.Errorf("%w: %w", err, &inference.SaturatedError{RetryAfter: r.opts.RetryAfter})
	}
	return crowded, nil
}

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
	err := r.admit(waiting, jobs)
	if err != nil {
		return err
	}
	err = r.queue.insert(ctx, tx, jobs)
	if full := r.admit(waiting, jobs); full != nil {
		return full
	}
	if err != nil {
		return fmt.Errorf("queue a job: %w", err)
	}
	return nil
}

// admit refuses jobs beside those that wait of each account, in JSON.
func (r *Runner) admit(waiting string, jobs []detection) error {
	accounts := map[string]int{}
	if err := json.Unmarshal([]byte(waiting), &accounts); err != nil {
		return fmt.Errorf("count the jobs that wait: %w", err)
	}
	left := r.opts.Queue
	for _, n := range accounts {
		left -= n
	}
	for _, j := range jobs {
		err := ErrFull
		if accounts[j.Account] < left {
			accounts[j.Account]++
			left--
			continue
		}
		if left > 0 {
			err = ErrShare
		}
		return fmt.Errorf("%w: %w", err, &inference.SaturatedError{RetryAfter: r.opts.RetryAfter})
	}
	return nil
}

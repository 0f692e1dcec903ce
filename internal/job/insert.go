package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

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

// insert queues jobs unless the queue has no room for all of them. It returns how many of each
// account wait then, or waited when it had none.
func (r *Runner) insert(ctx context.Context, tx *store.Tx, jobs []detection) (counts, error) {
	waiting, mark := "{}", r.home // on PostgreSQL until the jobs are there: they are read in the same way there and back
	if err := r.whereUploadsWait(ctx, tx, &mark); err != nil {
		return nil, err
	}
	if err := tx.Soon(ctx, &waiting, r.words.object(countWaiting), r.opts.Queue); err != nil {
		return nil, fmt.Errorf("count the jobs that wait: %w", err)
	}
	if before, _, err := r.admit(waiting, jobs); err != nil {
		if waiting == "{}" { // nobody has answered yet, or nobody waits
			before = nil
		}
		return before, err
	}
	ids, err := r.queue.insert(ctx, tx, jobs)
	after, crowded, full := r.admit(waiting, jobs)
	if full != nil {
		return after, full
	}
	if err == nil {
		err = r.stays(mark)
	}
	if err == nil && crowded {
		err = r.fallIn(ctx, tx, ids)
	}
	if err != nil {
		return nil, fmt.Errorf("queue a job: %w", err)
	}
	return after, nil
}

// admit puts jobs beside those that wait of each account, in JSON, or refuses them. It says whether
// there are others of an account for which some may have to fall in behind them.
func (r *Runner) admit(waiting string, jobs []detection) (with counts, crowded bool, err error) {
	before := counts{}
	if err := json.Unmarshal([]byte(waiting), &before); err != nil {
		return nil, false, fmt.Errorf("count the jobs that wait: %w", err)
	}
	with = maps.Clone(before)
	left := r.opts.Queue - with.all()
	for _, j := range jobs {
		if err := r.door.room(j.Account, with, left); err != nil {
			return before, false, err
		}
		crowded = crowded || with[j.Account] > 0
		with[j.Account]++
		left--
	}
	return with, crowded, nil
}

package job

import (
	"context"
	"errors"
	"fmt"

	"deepfaked/internal/account"
	"deepfaked/internal/store"
)

// What the clients of jobs read that could not be taken up again.
const (
	// Abandoned is said of a file during whose analysis the process has ended, again
	// and again.
	Abandoned = "The analysis of the file was broken off several times and has been given up; it does not count."
	// Interrupted is said of a job that an earlier version did not put on disk.
	Interrupted = "The service was restarted before the analysis finished; submit the file again."
)

// resume takes up what an earlier process left: jobs that it was running wait
// again, unless they have had all their attempts; detections whose job is gone
// have failed, and uploads that belong to no job are removed.
func (r *Runner) resume(ctx context.Context) error {
	var waits map[string]bool
	err := r.deps.Store.Write(ctx, func(tx *store.Tx) error {
		if err := release(ctx, tx); err != nil {
			return err
		}
		var err error
		waits, err = remembered(ctx, tx)
		return err
	})
	if err != nil {
		return err
	}
	failed, err := r.failTheRest(ctx, waits)
	if err != nil {
		return err
	}
	removed := 0
	if !r.opts.Shared {
		if removed, err = r.sweep(ctx, 0); err != nil {
			return err
		}
	}
	waiting := 0
	for _, yes := range waits {
		if yes {
			waiting++
		}
	}
	if waiting+failed+removed > 0 {
		r.deps.Logger.Info("took up the jobs of an earlier process", "waiting", waiting, "failed", failed, "uploads_removed", removed)
	}
	return nil
}

// release gives back what nobody is running: the process that was has ended. An
// attempt that it began counts, or a file that ends its process would do so for
// ever.
func release(ctx context.Context, tx *store.Tx) error {
	_, spent := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'discarded', finalized_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
		WHERE state = 'running' AND attempt >= max_attempts`)
	_, again := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'available', scheduled_at = strftime('%Y-%m-%d %H:%M:%f', 'now')
		WHERE state = 'running'`)
	return errors.Join(spent, again)
}

// remembered says of each detection that the queue has a job for, or had of late,
// whether it waits to be run.
func remembered(ctx context.Context, tx *store.Tx) (waits map[string]bool, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT json_extract(args, '$.id'), state IN ('available', 'retryable', 'scheduled') FROM river_job`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	waits = map[string]bool{}
	for rows.Next() {
		var id string
		var yes bool
		if err := rows.Scan(&id, &yes); err != nil {
			return nil, err
		}
		waits[id] = yes
	}
	return waits, rows.Err()
}

// failTheRest fails the detections that no job works for.
func (r *Runner) failTheRest(ctx context.Context, waits map[string]bool) (n int, err error) {
	ids, err := r.deps.Books.Unfinished(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		yes, known := waits[id]
		if yes {
			continue
		}
		message := Interrupted
		if known {
			message = Abandoned
		}
		if err := r.deps.Books.Fail(ctx, id, message); err != nil && !errors.Is(err, account.ErrComplete) {
			return n, fmt.Errorf("fail %s: %w", id, err)
		}
		n++
	}
	return n, nil
}

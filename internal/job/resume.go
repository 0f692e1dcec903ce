package job

import (
	"context"
	"database/sql"
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
	var waiting map[string]bool
	err := r.deps.Store.Write(ctx, func(tx *store.Tx) error {
		if err := release(ctx, tx); err != nil {
			return err
		}
		var err error
		waiting, err = live(ctx, tx.SQL())
		return err
	})
	if err != nil {
		return err
	}
	failed, err := r.failTheRest(ctx, waiting)
	if err != nil {
		return err
	}
	removed, err := r.removeTheRest(waiting)
	if err != nil {
		return err
	}
	if len(waiting)+failed+removed > 0 {
		r.deps.Logger.Info("took up the jobs of an earlier process", "waiting", len(waiting), "failed", failed, "uploads_removed", removed)
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

// live lists what the queue holds and has not ended.
func live(ctx context.Context, tx *sql.Tx) (ids map[string]bool, err error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT json_extract(args, '$.id') FROM river_job WHERE state IN ('available', 'retryable', 'scheduled', 'running')`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ids = map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids[id] = true
	}
	return ids, rows.Err()
}

// failTheRest fails the detections that no job works for.
func (r *Runner) failTheRest(ctx context.Context, waiting map[string]bool) (n int, err error) {
	ids, err := r.deps.Books.Unfinished(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if waiting[id] {
			continue
		}
		message := Interrupted
		if r.known(ctx, id) {
			message = Abandoned
		}
		if err := r.deps.Books.Fail(ctx, id, message); err != nil && !errors.Is(err, account.ErrComplete) {
			return n, fmt.Errorf("fail %s: %w", id, err)
		}
		n++
	}
	return n, nil
}

// known says whether there is, or was of late, a job for the detection.
func (r *Runner) known(ctx context.Context, id string) bool {
	n := 0
	err := r.deps.Store.Reader().QueryRowContext(ctx,
		`SELECT count(*) FROM river_job WHERE json_extract(args, '$.id') = $1`, id).Scan(&n)
	return err == nil && n > 0
}

// removeTheRest removes the uploads that no job waits for.
func (r *Runner) removeTheRest(waiting map[string]bool) (n int, err error) {
	names, err := r.deps.Spool.Parked()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if waiting[name] {
			continue
		}
		if err := r.deps.Spool.Discard(name); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

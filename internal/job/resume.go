package job

import (
	"context"
	"errors"
	"fmt"
	"time"

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

// resume takes up what earlier processes left. An upload without a job is that of
// one that was killed in between, when no other process can have it.
func (r *Runner) resume(ctx context.Context) error {
	if err := r.Recover(ctx); err != nil || r.shared() {
		return err
	}
	_, err := r.sweep(ctx, 0)
	return err
}

// shared says whether other processes may be parking uploads in the same place.
func (r *Runner) shared() bool { return r.opts.Shared || r.deps.Store.Postgres() != nil }

// Recover takes up what processes left that are no longer at work: jobs that they
// were running wait again, unless they have had all their attempts, and detections
// that no job works for have failed. Jobs that were fetched for this process and
// never reached it wait again, too, those that a wrong clock keeps waiting run, and
// those that wait are put in order.
// It can run at any time, and gives up on a database that takes too long.
func (r *Runner) Recover(ctx context.Context) error {
	in, err := r.inherit(ctx)
	if err != nil {
		return fmt.Errorf("take up the jobs of other processes: %w", err)
	}
	if in.reclaimed > 0 {
		r.deps.Logger.Warn("jobs wait again that were fetched for this process and never reached it", "jobs", in.reclaimed)
	}
	if in.hastened > 0 {
		r.deps.Logger.Warn("jobs run now whose time was long past, or too far ahead: no process was there to have them run, or a clock is wrong, or was", "jobs", in.hastened)
	}
	for id, message := range in.lost {
		if err := r.conclude(ctx, id, r.deps.Books.Fail(ctx, id, message)); err != nil {
			return fmt.Errorf("fail %s: %w", id, err)
		}
	}
	if in.again > 0 || len(in.lost) > 0 {
		r.deps.Logger.Warn("took up the jobs that other processes left", "again", in.again, "failed", len(in.lost))
	}
	return nil
}

// inheriting bounds what is asked of the database for it.
const inheriting = time.Minute

// inherited is what was taken up of other processes.
type inherited struct {
	again, reclaimed, hastened int64             // jobs
	lost                       map[string]string // detections that no job works for, with a sentence each
}

func (r *Runner) inherit(ctx context.Context) (in inherited, err error) {
	ctx, cancel := context.WithTimeout(ctx, inheriting)
	defer cancel()
	err = r.deps.Process.Inherit(ctx, func(tx *store.Tx) (err error) {
		if in.again, err = r.release(ctx, tx); err != nil {
			return err
		}
		if in.reclaimed, err = r.reclaim(ctx, tx); err != nil {
			return err
		}
		if err = r.unseat(ctx, tx); err != nil {
			return err
		}
		if in.hastened, err = r.hasten(ctx, tx); err != nil {
			return err
		}
		if err = r.order(ctx, tx); err != nil {
			return err
		}
		in.lost, err = findLost(ctx, tx)
		return err
	})
	return in, err
}

// release gives back what nobody is running: the process that was has gone. An
// attempt that it began counts, or a file that ends its process would do so for
// ever, and each is a suspect from then on. It returns how many wait again.
func (r *Runner) release(ctx context.Context, tx *store.Tx) (int64, error) {
	left := `state = 'running' AND ` + r.words.holder + ` NOT IN (` + r.deps.Store.AtWork() + `) AND NOT (` + r.deps.Store.Lately("attempted_at") + `)`
	_, err := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'discarded', finalized_at = `+r.words.now+`
		WHERE attempt >= max_attempts AND `+left)
	if err != nil {
		return 0, err
	}
	again, err := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'available', queue = '`+suspects+`', scheduled_at = `+r.words.now+` WHERE `+left)
	if err != nil {
		return 0, err
	}
	return again.RowsAffected()
}

// lostDetections are those that no job works for, and whether one did.
const lostDetections = `
	SELECT id, id IN (SELECT args->>'id' FROM river_job) FROM detections
	WHERE state = 'processing' AND mode = 'async'
	AND id NOT IN (SELECT args->>'id' FROM river_job WHERE state IN ` + unfinished + `)`

// findLost finds the detections that no job works for, and what to say of each.
func findLost(ctx context.Context, tx *store.Tx) (lost map[string]string, err error) {
	rows, err := tx.QueryContext(ctx, lostDetections)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	lost = map[string]string{}
	for rows.Next() {
		var id string
		var known bool
		if err := rows.Scan(&id, &known); err != nil {
			return nil, err
		}
		lost[id] = Interrupted
		if known {
			lost[id] = Abandoned
		}
	}
	return lost, rows.Err()
}

package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/preprocess"
)

// worker makes one attempt at a time of a job.
type worker struct {
	river.WorkerDefaults[detection]

	runner *Runner
}

// Work takes a job to its end, or says when it is to be tried again.
func (w *worker) Work(ctx context.Context, j *river.Job[detection]) (err error) {
	r := w.runner
	end := GaveUp
	r.inFlight.begin(j.ID, *j.AttemptedAt)
	r.door.begun(j.Args.Account)
	defer func(began time.Time) {
		r.inFlight.end(j.ID)
		r.attempted(j, began, end, err)
	}(time.Now())
	outcome, err := r.attempt(ctx, j.Args)
	if err == nil {
		end = Complete
		return r.settle(ctx, j, outcome)
	}
	if errors.Is(r.decides(context.WithoutCancel(ctx), r.deps.Store.Reader(), j), account.ErrSuperseded) {
		end = Returned
		return r.superseded(j, err)
	}
	var busy *inference.SaturatedError
	var fault *inference.FaultError
	wait, waits := waitFor(j, err)
	switch {
	case r.stopping.Load() && errors.Is(err, context.Canceled):
		end = Returned
		return river.JobSnooze(0)
	case errors.As(err, &busy):
		end = Postponed
		return river.JobSnooze(max(busy.RetryAfter, time.Second))
	case errors.As(err, &fault) && fault.Out:
		end = Postponed
		return river.JobSnooze(r.opts.Retry) // another process may be able to
	case waits:
		end = Postponed
		r.deps.Logger.Warn("job waits for its upload", "request_id", j.Args.RequestID, "detection", j.Args.ID, "for", wait.String(), "error", err)
		return river.JobSnooze(wait)
	case !final(err) && j.Attempt < j.MaxAttempts:
		end = Retried
		r.deps.Logger.Warn("job is tried again", "request_id", j.Args.RequestID, "detection", j.Args.ID, "attempt", j.Attempt, "error", err)
		return &writable{err}
	case unfit(err):
		end = Failed
	}
	return r.fail(ctx, j, err)
}

// writable is an error without zero bytes in its words. River writes them down as JSON, for many jobs at a
// time, and PostgreSQL takes none there: River would try for ever, and none of those jobs would end.
type writable struct{ err error }

// Error implements error.
func (e *writable) Error() string { return strings.ReplaceAll(e.err.Error(), "\x00", "\uFFFD") }

// Unwrap returns the cause.
func (e *writable) Unwrap() error { return e.err }

// final says that another attempt would end in the same way.
func final(err error) bool { return unfit(err) || errors.Is(err, ErrTooLate) }

// unfit says that the file is at fault, and not the service.
func unfit(err error) bool {
	media := (*preprocess.Error)(nil)
	return errors.As(err, &media)
}

// isGone says that the store has answered, and with something else than the upload. For once that
// may be whatever lies between: it costs an attempt, and is believed at the last.
func isGone(err error) bool { return errors.Is(err, spool.ErrLost) || errors.Is(err, spool.ErrDamaged) }

// attempt fetches the upload and judges it, each within the deadline. How long it waits
// in between, for others to be judged, is not the file's fault, nor is a pause of the process.
func (r *Runner) attempt(ctx context.Context, d detection) (account.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := allow(r.opts.Deadline, func() { cancel(ErrTooLate) })
	defer late.stop()
	outcome, err := r.analyse(ctx, d, late)
	if err != nil && errors.Is(context.Cause(ctx), ErrTooLate) && !errors.Is(err, ErrSlow) {
		err = fmt.Errorf("%w: %w", ErrTooLate, err)
	}
	return outcome, err
}

func (r *Runner) analyse(ctx context.Context, d detection, late *allowance) (account.Outcome, error) {
	file, err := r.deps.Uploads.Open(ctx, d.ID, d.SHA256, d.Size)
	late.stop()
	if err == nil {
		defer func() { _ = file.Close() }()
	}
	if err := r.unfetched(ctx, err); err != nil {
		return account.Outcome{}, err
	}
	return r.judge(ctx, Task{
		Begun: func() { late.reset(r.opts.Deadline) },
		ID:    d.ID, RequestID: d.RequestID, Account: d.Account, File: file, FileName: d.FileName, Declared: d.Declared, Sensitivity: d.Sensitivity,
	})
}

// unfetched says why there is no upload to be judged, unless it was fetched, with err as nil, in time.
func (r *Runner) unfetched(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrTooLate) {
		return slow(err)
	}
	if errors.Is(err, spool.ErrLost) {
		err = r.missing(ctx, err)
	}
	if err != nil && ctx.Err() == nil && !isGone(err) {
		return fmt.Errorf("%w: %w", spool.ErrAway, err) // not the file's fault
	}
	return err
}

// slow is ErrSlow with the words of err, if there is one, and no more of it: what reads from a bucket says ErrTooLate
// itself, which would end the job for good, or that the bucket is away, which would cost no attempt.
func slow(err error) error {
	if err == nil {
		return ErrSlow
	}
	return fmt.Errorf("%w: %s", ErrSlow, err.Error())
}

// judge turns a panic into an error: it costs its own job and no other.
func (r *Runner) judge(ctx context.Context, t Task) (o account.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the analysis panicked: %v", v)
			r.deps.Logger.Error("panic", "request_id", t.RequestID, "detection", t.ID, "stack", string(debug.Stack()))
		}
	}()
	return Judge(ctx, r.deps.Detector, t, inference.Background)
}

// settled is a job with its outcome.
type settled struct {
	job     int64
	outcome account.Ended
}

// settle stores the outcome and ends the job in one transaction, so that it is
// counted once however often it was tried.
func (r *Runner) settle(ctx context.Context, j *river.Job[detection], o account.Outcome) error {
	err := r.settles.Do(context.WithoutCancel(ctx), settled{j.ID, account.Ended{ID: j.Args.ID, Outcome: o}})
	return r.again(j, r.conclude(ctx, j.Args.ID, err))
}

// settleAll does so for several jobs, or for none.
func (r *Runner) settleAll(ctx context.Context, all []settled) error {
	jobs, outcomes := make([]int64, len(all)), make([]account.Ended, len(all))
	for i, s := range all {
		jobs[i], outcomes[i] = s.job, s.outcome
	}
	return r.deps.Books.SettleAll(ctx, outcomes, r.ended(jobs...))
}

// fail tells the client why, and ends the job.
func (r *Runner) fail(ctx context.Context, j *river.Job[detection], err error) error {
	level := slog.LevelError
	if unfit(err) {
		level = slog.LevelInfo
	}
	failed := r.deps.Books.Fail(ctx, j.Args.ID, r.deps.Sentence(err), func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Lock(ctx, "river_job", j.ID); err != nil {
			return err
		}
		return r.decides(ctx, tx, j)
	}, r.ended(j.ID))
	if errors.Is(failed, account.ErrSuperseded) {
		return r.superseded(j, err)
	}
	r.deps.Logger.Log(ctx, level, "job failed", "request_id", j.Args.RequestID, "detection", j.Args.ID, "error", err)
	return r.again(j, r.conclude(ctx, j.Args.ID, failed))
}

// again has a job come back whose end the database did not take for err, if there is
// one. That costs no attempt, or a file that was analysed would be given up as if it
// could not be.
func (r *Runner) again(j *river.Job[detection], err error) error {
	if err == nil {
		return nil
	}
	wait := backoff(j)
	r.deps.Logger.Error("the end of a job could not be written down; it is analysed again", "request_id", j.Args.RequestID, "detection", j.Args.ID, "in", wait.String(), "error", err)
	return river.JobSnooze(wait)
}

// ended ends jobs in the transaction of their results. The ledger may repeat that
// much later, when a job is no longer running: then it will be run again, and find
// its result there.
func (r *Runner) ended(jobs ...int64) account.Step {
	return func(ctx context.Context, tx *store.Tx) error {
		if err := r.queue.complete(ctx, tx, jobs...); err != nil {
			return fmt.Errorf("end the job: %w", err)
		}
		return nil
	}
}

// conclude removes the upload once the books have an end of the detection, by
// this attempt or an earlier one. What can't be removed is left to Clear: the job
// has ended all the same.
func (r *Runner) conclude(ctx context.Context, id string, err error) error {
	if err != nil && !errors.Is(err, account.ErrFailed) && !errors.Is(err, account.ErrComplete) && !errors.Is(err, account.ErrNotFound) {
		if account.IsUnknown(err) { // if the job has ended, nobody runs it again
			r.unsure.add(id)
		}
		return err
	}
	if err := r.discard(ctx, id); err != nil {
		r.deps.Logger.Error("an upload could not be removed after its analysis; that is tried again", "detection", id, "error", err)
	}
	return nil
}

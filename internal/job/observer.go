package job

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/riverqueue/river"
)

// Observer is told of attempts as they end. Jobs call it at once and wait for
// it: it must be quick and must not block.
type Observer interface {
	// Attempted is told how long the attempt's job had waited since it might have
	// begun, how long the attempt took, and how it ended.
	Attempted(end End, waited, took time.Duration)
}

// End says how an attempt ended.
type End string

// The ends of an attempt.
const (
	Complete  End = "complete"
	Failed    End = "failed"    // for good: the file can't be judged
	GaveUp    End = "gave_up"   // for good, and not by the file's fault
	Retried   End = "retried"   // there will be another attempt
	Postponed End = "postponed" // too much work, or the upload can't be had; it does not count as an attempt
	Returned  End = "returned"  // the process is to stop; it does not count as an attempt
)

// attempted tells the observer of an attempt that began then. With an error its
// end could not be written down.
func (r *Runner) attempted(j *river.Job[detection], began time.Time, end End, err error) {
	if r.opts.Observer == nil {
		return
	}
	if err != nil && (end == Complete || end == Failed || end == GaveUp) {
		end = Retried
	}
	r.opts.Observer.Attempted(end, max(0, began.Sub(j.ScheduledAt)), time.Since(began))
}

// Waiting counts the jobs that wait to be run, by any process: those that
// Options.Queue bounds. It reads an index.
func (r *Runner) Waiting(ctx context.Context) (n int, err error) {
	if err := r.deps.Store.Reader().QueryRowContext(ctx, countAllWaiting).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the jobs that wait: %w", err)
	}
	return n, nil
}

// querier is a transaction or a pool of readers.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// countAllWaiting reads no more than the index of the jobs' states.
const countAllWaiting = `SELECT count(*) FROM river_job WHERE state IN ('available', 'retryable', 'scheduled')`

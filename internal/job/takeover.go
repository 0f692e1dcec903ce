package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/riverqueue/river"

	"deepfaked/internal/account"
)

// A process that was silent for too long, such as one that was suspended, may wake
// up in the middle of a job that another one has taken up meanwhile. A result is a
// result, whoever has it first; but it no longer decides that the job has failed.

// decides fails with account.ErrSuperseded when the job waits for another attempt
// than j, or is in one.
func (r *Runner) decides(ctx context.Context, q querier, j *river.Job[detection]) error {
	var open, mine bool
	err := q.QueryRowContext(ctx, `
		SELECT state IN `+unfinished+`, state = 'running' AND attempt = $2 AND `+r.words.holder+` = $3
		FROM river_job WHERE id = $1`, j.ID, j.Attempt, r.deps.Process.ID()).Scan(&open, &mine)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return fmt.Errorf("see who has the job: %w", err)
	case open && !mine:
		return account.ErrSuperseded
	}
	return nil
}

// superseded leaves a job to whoever has it. The queue does not know attempts
// apart and would end the other one's: it is told to come back when that one is
// over, and finds the detection ended then.
func (r *Runner) superseded(j *river.Job[detection], err error) error {
	r.deps.Logger.Warn("a job that failed here has been taken up by another process", "request_id", j.Args.RequestID, "detection", j.Args.ID, "error", err)
	return river.JobSnooze(r.opts.Deadline)
}

package job

import (
	"context"
	"time"

	"github.com/riverqueue/river/rivertype"

	"deepfaked/internal/store"
)

// Jobs are fetched once they are due by the database's clock, and clocks of several
// machines differ.

// dueByTheDatabase leaves it to PostgreSQL when a new job is due: now. River's driver
// would say so by this process's clock; for the zero time its statement has the
// server's. On SQLite both are one clock.
func dueByTheDatabase(_ context.Context, p *rivertype.JobInsertParams) error {
	p.ScheduledAt = &time.Time{}
	return nil
}

// soon is within how long a job is due that River has made available, and for how long
// one has been that it has not, with a margin: it does so up to five seconds before.
const soon = 10 * time.Second

// hasten has jobs run that are to wait for longer than any job is told to: River says
// until when by the clock of the process that made the last attempt, and a clock of
// SQLite's only process may have been put back since, by which new ones were due at once.
// So it does with those whose time has come and gone: River has them run by the clock of
// the process that leads, which may be behind. It returns how many.
func (r *Runner) hasten(ctx context.Context, tx *store.Tx) (int64, error) {
	hastened, err := tx.ExecContext(ctx, `
		UPDATE river_job SET state = 'available', scheduled_at = `+r.words.now+`
		WHERE state = 'available' AND scheduled_at > `+r.words.in(soon)+`
		OR state IN ('retryable', 'scheduled') AND (scheduled_at > `+r.words.in(r.opts.longestWait())+` OR scheduled_at < `+r.words.in(-soon)+`)`)
	if err != nil {
		return 0, err
	}
	return hastened.RowsAffected()
}

// unseat has another of River's clients elected to lead, without whom nothing that waits for its
// time is run, in the place of one whose term lies in a future that only a wrong clock has
// seen. Terms are of 15 seconds, and one that is at work is elected anew.
func (r *Runner) unseat(ctx context.Context, tx *store.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM river_leader WHERE expires_at > `+r.words.in(time.Minute))
	return err
}

// longestWait is for how long a job is told to wait at the most: after a failure,
// while another process has it, or for its upload. One that is to wait longer for
// room, or by the options of another process, is tried too soon, which does no harm.
func (o Options) longestWait() time.Duration {
	before := o.Attempts - 1
	return max(time.Duration(before*before)*o.Retry, o.Deadline, awayLast)
}

package job

import (
	"context"
	"fmt"

	"deepfaked/internal/spool"
	"deepfaked/internal/store"
)

// A process that was cut off for so long that it was taken for gone may come back when
// uploads wait elsewhere: what it accepted would be lost to the others, and their jobs to it.

// present is the mark of the place in which uploads wait, empty where it needs none.
const present = `SELECT coalesce((SELECT id FROM homes ORDER BY nth DESC LIMIT 1), '')`

// stays says that uploads wait where they did when this process started, if that is the
// present mark. The error matches spool.ErrAway, too.
func (r *Runner) stays(mark string) error {
	if mark != r.home {
		return fmt.Errorf("%w: %w (%s)", spool.ErrAway, ErrElsewhere, named(mark))
	}
	return nil
}

// whereUploadsWait reads the present mark into to, where another process may have changed it.
func (r *Runner) whereUploadsWait(ctx context.Context, tx *store.Tx, to *string) error {
	if r.deps.Store.Postgres() == nil {
		return nil
	}
	return tx.Soon(ctx, to, present)
}

// missing is what to make of an upload that is not there, and not there for err: it is
// gone, or waits elsewhere for another process.
func (r *Runner) missing(ctx context.Context, err error) error {
	mark := ""
	if asked := r.deps.Store.Reader().QueryRowContext(ctx, present).Scan(&mark); asked != nil {
		return fmt.Errorf("%w: see where uploads wait: %w", spool.ErrAway, asked)
	}
	if moved := r.stays(mark); moved != nil {
		return moved
	}
	return err
}

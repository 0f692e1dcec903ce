package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"deepfaked/internal/store"
)

// A process that looks for uploads where they are not fails each job that it gets as lost,
// and one that knows nothing of the jobs removes their uploads. One wrong word in an
// address is enough for either. So the database and the place in which its uploads wait
// bear the same mark, which is compared before anything is run.

// ErrElsewhere says that the uploads of the database's jobs wait in another place.
var ErrElsewhere = errors.New("the uploads of this database's jobs wait in another place: give all its processes the same --uploads; " +
	"to move to this place, let the jobs that wait be run in the old one, stop all processes, and start again after half a minute; " +
	"if the old one is gone, give this one its mark")

// ErrForeign says that a place is another database's.
var ErrForeign = errors.New("the uploads of another database wait there, and each would remove the other's: choose a place of its own, " +
	"or check --database; if that database is gone, remove its mark")

// home is a place in which uploads of the database's jobs wait, or waited.
type home struct {
	id    string
	ready bool // the place bears the mark
}

// findHome sees that the uploads are where those of the database wait, or makes that their place where
// none wait yet, or none any more, and nobody else could park some elsewhere.
func (r *Runner) findHome(ctx context.Context) error {
	return r.deps.Store.Alone(ctx, "uploads", func() error {
		homes, err := r.homes(ctx)
		if err != nil {
			return fmt.Errorf("read where uploads wait: %w", err)
		}
		owners, err := r.deps.Uploads.Owners(ctx)
		if err != nil {
			return err
		}
		return r.settleIn(ctx, homes, owners)
	})
}

// settleIn compares the marks that the database knows with those that the place bears.
func (r *Runner) settleIn(ctx context.Context, homes []home, owners []string) error {
	known := slices.IndexFunc(homes, func(h home) bool { return slices.Contains(owners, h.id) })
	settled := len(homes) > 0 && homes[0].ready
	if settled && known != 0 {
		if err := r.mayMove(ctx, homes[0]); err != nil {
			return err
		}
	}
	switch {
	case settled && known == 0:
		return nil
	case known >= 0:
		return r.moveTo(ctx, homes[known].id)
	case len(owners) > 0:
		return fmt.Errorf("%w (%s)", ErrForeign, named(owners[0]))
	case len(homes) > 0 && !settled:
		return r.moveTo(ctx, homes[0].id) // the process that had begun to has ended
	}
	return r.moveTo(ctx, rand.Text())
}

// named says to an operator what a mark is.
func named(mark string) string {
	return fmt.Sprintf("an object deepfaked-of-%s in a bucket, an empty file .deepfaked-of-%s in a folder", mark, mark)
}

// homes lists the places, the present one first.
func (r *Runner) homes(ctx context.Context) (homes []home, err error) {
	rows, err := r.deps.Store.Reader().QueryContext(ctx, `SELECT id, ready FROM homes ORDER BY nth DESC`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h home
		if err := rows.Scan(&h.id, &h.ready); err != nil {
			return nil, err
		}
		homes = append(homes, h)
	}
	return homes, rows.Err()
}

// moveTo makes the place that bears the mark, or will, the present one. A process that
// ends in between leaves no mark that the database does not know.
func (r *Runner) moveTo(ctx context.Context, id string) error {
	if err := r.note(ctx, home{id, false}); err != nil {
		return err
	}
	if err := r.deps.Uploads.Own(ctx, id); err != nil {
		return err
	}
	return r.note(ctx, home{id, true})
}

// note writes a place down as the present one.
func (r *Runner) note(ctx context.Context, h home) error {
	err := r.deps.Store.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO homes (id, nth, ready) VALUES ($1, (SELECT coalesce(max(nth), 0) + 1 FROM homes), $2)
			ON CONFLICT (id) DO UPDATE SET nth = excluded.nth, ready = excluded.ready`, h.id, h.ready)
		return err
	})
	if err != nil {
		return fmt.Errorf("note where uploads wait: %w", err)
	}
	return nil
}

// mayMove says whether uploads may wait elsewhere than at h from now on: none wait, and
// nobody else is at work who would go on parking them there.
func (r *Runner) mayMove(ctx context.Context, h home) error {
	stay := false
	err := r.deps.Store.Reader().QueryRowContext(ctx, `
		SELECT EXISTS (SELECT 1 FROM river_job WHERE state IN `+unfinished+`)
		  OR EXISTS (SELECT 1 FROM (`+r.deps.Store.AtWork()+`) AS others WHERE id <> $1)`, r.deps.Process.ID()).Scan(&stay)
	if err != nil {
		return fmt.Errorf("see whether uploads wait elsewhere: %w", err)
	}
	if stay {
		return fmt.Errorf("%w (%s)", ErrElsewhere, named(h.id))
	}
	return nil
}

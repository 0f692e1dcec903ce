package job

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"deepfaked/internal/spool"
	"deepfaked/internal/store"
)

// A process that looks for uploads where they are not fails each job that it gets as lost,
// and one that knows nothing of the jobs removes their uploads. One wrong word in an
// address is enough for either. So the database and the place in which its uploads wait
// bear the same mark, which is compared before anything is run.

// ErrElsewhere says that the uploads of the database's jobs wait in another place.
var ErrElsewhere = errors.New("the uploads of this database's jobs wait in another place: give all its processes the same --uploads; " +
	"to move to this place, let the jobs that wait be run in the old one, stop all processes, and start again after half a minute; " +
	"if the old one is gone, --adopt-uploads takes this one, and the jobs whose uploads were there fail")

// ErrForeign says that a place is another database's.
var ErrForeign = errors.New("the uploads of another database wait there, and each would remove the other's: choose a place of its own, " +
	"or check --database; if that database is gone, remove its mark")

// home is a place in which uploads of the database's jobs wait, or waited.
type home struct {
	id    string
	ready bool // the place bears the mark
}

// findHome sees that the uploads are where those of the database wait, or makes that their place where
// none wait yet, or none any more, and nobody else could park some elsewhere. The data folder of the one
// process that has SQLite needs no mark until its uploads have waited elsewhere.
func (r *Runner) findHome(ctx context.Context) error {
	homes, owners, err := r.marks(ctx)
	if err != nil || r.isAtHome(homes, owners) || len(homes) == 0 && !r.shared() {
		return err
	}
	return r.deps.Store.Alone(ctx, "uploads", func() error {
		homes, owners, err := r.marks(ctx)
		if err != nil || r.isAtHome(homes, owners) {
			return err
		}
		return r.settleIn(ctx, homes, owners)
	})
}

// marks are those that the database knows and those that the place bears.
func (r *Runner) marks(ctx context.Context) (homes []home, owners []string, err error) {
	if homes, err = r.homes(ctx); err != nil {
		return nil, nil, fmt.Errorf("read where uploads wait: %w", err)
	}
	owners, err = r.deps.Uploads.Owners(ctx)
	return homes, owners, err
}

// isAtHome says whether the place bears the mark of the present one, and remembers that.
func (r *Runner) isAtHome(homes []home, owners []string) bool {
	if len(homes) == 0 || !homes[0].ready || !slices.Contains(owners, homes[0].id) {
		return false
	}
	r.home = homes[0].id
	return true
}

// settleIn makes the place the present one, if it may be.
func (r *Runner) settleIn(ctx context.Context, homes []home, owners []string) error {
	known := slices.IndexFunc(homes, func(h home) bool { return slices.Contains(owners, h.id) })
	if known == 0 {
		return r.moveTo(ctx, homes, homes[0].id) // the process that had begun to has ended
	}
	here, err := r.mayMove(ctx, homes)
	switch {
	case err != nil:
		return err
	case here && len(homes) > 0:
		return r.moveTo(ctx, homes, homes[0].id) // it has lost its mark
	case known > 0:
		return r.moveTo(ctx, homes, homes[known].id)
	case len(owners) > 0:
		return fmt.Errorf("%w (%s)", ErrForeign, named(owners[0]))
	}
	return r.moveTo(ctx, homes, rand.Text())
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
func (r *Runner) moveTo(ctx context.Context, homes []home, id string) error {
	if err := r.note(ctx, home{id, false}); err != nil {
		return err
	}
	if err := r.deps.Uploads.Own(ctx, id); err != nil {
		return err
	}
	owners, err := r.deps.Uploads.Owners(ctx)
	if err != nil {
		return err
	}
	if err := strange(append(homes, home{id: id}), owners); err != nil { // another database may have come at the same moment
		return err
	}
	r.home = id
	return r.note(ctx, home{id, true})
}

// strange fails where one of the marks is not the database's.
func strange(homes []home, owners []string) error {
	for _, o := range owners {
		if !slices.ContainsFunc(homes, func(h home) bool { return h.id == o }) {
			return fmt.Errorf("%w (%s)", ErrForeign, named(o))
		}
	}
	return nil
}

// keepMark gives its mark back to a place that has lost it, as to a rule by which a bucket's objects
// expire: who starts next would take it for another. The mark is of the one place that this process was
// let into with it, and nothing is written once uploads wait elsewhere, or where another database has come.
func (r *Runner) keepMark(ctx context.Context) error {
	if r.home == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inheriting)
	defer cancel()
	homes, owners, err := r.marks(ctx)
	if err != nil || slices.Contains(owners, r.home) || len(homes) == 0 || homes[0].id != r.home {
		return err
	}
	if err := strange(homes, owners); err != nil {
		return err
	}
	r.deps.Logger.Warn("the place in which uploads wait has lost its mark and gets it back: where something removes what is old there, uploads of jobs that wait may be lost, too",
		"mark", named(r.home))
	return r.deps.Uploads.Own(ctx, r.home)
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

// mayMove says whether uploads may wait here from now on: those of jobs that wait are here, or
// none wait, and nobody else is at work who would go on parking them where they waited.
func (r *Runner) mayMove(ctx context.Context, homes []home) (here bool, err error) {
	ids, err := r.wanted(ctx)
	if err != nil {
		return false, err
	}
	parked, err := r.deps.Uploads.Parked(ctx)
	if err != nil {
		return false, err
	}
	here = slices.ContainsFunc(parked, func(p spool.Parked) bool { return slices.Contains(ids, p.Name) })
	others, err := r.others(ctx)
	settled := len(homes) > 0 && homes[0].ready
	switch {
	case err != nil || here || r.opts.Adopt:
		return here, err
	case settled && (len(ids) > 0 || others):
		return false, fmt.Errorf("%w; if this is their place and has lost its mark, a process that is at work gives it back within retention.interval, or make it yourself (%s)",
			ErrElsewhere, named(homes[0].id))
	case len(ids) > 0:
		return false, ErrElsewhere
	}
	return false, nil
}

// others says whether other processes are at work on the database.
func (r *Runner) others(ctx context.Context) (yes bool, err error) {
	err = r.deps.Store.Reader().QueryRowContext(ctx,
		`SELECT EXISTS (SELECT 1 FROM (`+r.deps.Store.AtWork()+`) AS others WHERE id <> $1)`, r.deps.Process.ID()).Scan(&yes)
	if err != nil {
		return false, fmt.Errorf("see who is at work: %w", err)
	}
	return yes, nil
}

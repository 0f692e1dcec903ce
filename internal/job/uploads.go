package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/riverqueue/river"

	"deepfaked/internal/account"
	"deepfaked/internal/spool"
)

// Uploads keep the files of accepted jobs until their analysis has ended. They
// are safe for concurrent use. Errors that match spool.ErrAway pass by
// themselves.
type Uploads interface {
	// Park keeps f under a name: when it returns nil the file outlives this
	// process and this machine, as far as they are meant to. With an error it may be
	// there or not. f stays open.
	Park(ctx context.Context, name string, f *spool.File) error
	// Open gives back what was parked, with this SHA-256 and, unless it is 0,
	// this size. The error matches spool.ErrLost when there is nothing,
	// spool.ErrDamaged when it is something else, and spool.ErrFull when there is
	// no room to fetch it to. The caller closes the file.
	Open(ctx context.Context, name, sum string, size int64) (*spool.File, error)
	// Discard removes what was parked, and what is not there as well.
	Discard(ctx context.Context, name string) error
	// Parked lists what there is.
	Parked(ctx context.Context) ([]spool.Parked, error)
	// Owners lists the marks that the place bears, and Own has it bear one more.
	Owners(ctx context.Context) ([]string, error)
	Own(ctx context.Context, id string) error
}

// discardTime bounds how long a caller that may have gone is held up by the
// removal of its upload, and how long Clear holds up what is done after it.
const discardTime = 10 * time.Second

// discard removes an upload, whether or not ctx has ended, or leaves it to Clear.
func (r *Runner) discard(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTime)
	defer cancel()
	err := r.deps.Uploads.Discard(ctx, id)
	if err != nil {
		r.left.add(id)
	}
	return err
}

// leftovers are uploads that no job needs, or may not need, which could not be removed, or may be there. While a
// store is away there may be any number of them; those beyond some are for Sweep.
type leftovers struct {
	mu  sync.Mutex
	ids map[string]bool
}

// mostLeft takes Clear, which removes one after the other, some seconds.
const mostLeft = 1000

func (l *leftovers) add(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ids == nil {
		l.ids = map[string]bool{}
	}
	if len(l.ids) < mostLeft {
		l.ids[id] = true
	}
}

func (l *leftovers) remove(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ids, id)
}

func (l *leftovers) list() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.ids))
}

// Clear removes the uploads that this process could not remove when their jobs
// ended, or did not as it did not hear of their ends, or that may have been parked in spite of an error, and returns of how many there
// is nothing now. It gives up at the first that it can't remove now; what another process
// left is for Sweep.
func (r *Runner) Clear(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, discardTime)
	defer cancel()
	if err := r.makeSure(ctx); err != nil {
		return 0, err
	}
	for _, id := range r.left.list() {
		if err := r.deps.Uploads.Discard(ctx, id); err != nil {
			return n, err
		}
		r.left.remove(id)
		n++
	}
	return n, nil
}

// makeSure finds out which jobs have ended of those whose end the database took without our
// hearing of it, or did not take: then they run again.
func (r *Runner) makeSure(ctx context.Context) error {
	unsure := r.unsure.list()
	if len(unsure) == 0 {
		return nil
	}
	wanted, err := r.wanted(ctx)
	if err != nil {
		return err
	}
	for _, id := range unsure {
		if !slices.Contains(wanted, id) {
			r.unsure.remove(id)
			r.left.add(id)
		}
	}
	return nil
}

// orphaned is how old an upload without a job is before it is removed. Its job
// comes within seconds, or never; a day would do, too.
const orphaned = time.Hour

// Sweep removes uploads that belong to no job: what killed processes left, and
// what could not be removed when its analysis ended. It returns how many, and
// says so of each in the log. First it sees that the place of the uploads bears its mark.
func (r *Runner) Sweep(ctx context.Context) (int, error) {
	if err := r.keepMark(ctx); err != nil {
		return 0, fmt.Errorf("see that the place of the uploads bears its mark: %w", err)
	}
	return r.sweep(ctx, orphaned)
}

// sweep removes uploads without a job that are at least that old.
func (r *Runner) sweep(ctx context.Context, age time.Duration) (n int, err error) {
	old, err := r.parkedSince(ctx, age)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	// Asked after the list: what is in it by now has a job, or never gets one.
	wanted, err := r.wanted(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range wanted {
		delete(old, id)
	}
	for id, age := range old {
		if err := r.deps.Uploads.Discard(ctx, id); err != nil {
			return n, fmt.Errorf("remove the upload of %s, which no job needs: %w", id, err)
		}
		r.deps.Logger.Info("removed an upload that no job needs", "detection", id, "age", age.Round(time.Second).String())
		n++
	}
	return n, nil
}

const wantedUploads = `SELECT args->>'id' FROM river_job WHERE state IN ` + unfinished

// wanted are the detections whose job is not finished.
func (r *Runner) wanted(ctx context.Context) (ids []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, inheriting)
	defer cancel()
	rows, err := r.deps.Store.Reader().QueryContext(ctx, wantedUploads)
	if err != nil {
		return nil, fmt.Errorf("list the jobs that wait: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// parkedSince finds uploads that are at least that old. What we did not name is
// none of them, whatever lies beside them.
func (r *Runner) parkedSince(ctx context.Context, age time.Duration) (map[string]time.Duration, error) {
	parked, err := r.deps.Uploads.Parked(ctx)
	if err != nil {
		return nil, err
	}
	old := map[string]time.Duration{}
	for _, p := range parked {
		if p.Age >= age && strings.HasPrefix(p.Name, account.DetectionPrefix) {
			old[p.Name] = p.Age
		}
	}
	return old, nil
}

// Between two looks for an upload that can't be had for now, or two tries to write
// down an end.
const (
	awayFirst = time.Second
	awayLast  = time.Minute
)

// waitFor says when to look again for an upload that can't be had for now, at no
// attempt's cost: the file is not to blame.
func waitFor(j *river.Job[detection], err error) (time.Duration, bool) {
	if !errors.Is(err, spool.ErrAway) && !errors.Is(err, spool.ErrFull) {
		return 0, false
	}
	return backoff(j), true
}

// backoff is longer each time that a job has waited at no attempt's cost.
func backoff(j *river.Job[detection]) time.Duration {
	var before struct {
		Snoozes int `json:"snoozes"`
	}
	_ = json.Unmarshal(j.Metadata, &before) // the queue's own; without it the wait is short
	return min(awayFirst<<min(before.Snoozes, 10), awayLast)
}

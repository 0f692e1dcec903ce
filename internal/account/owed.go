package account

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"deepfaked/internal/store"
)

// maxOwed bounds the ends that are remembered. While the database can't be
// written to nothing is accepted either, so they are no more than what was
// under way, a few thousand.
const maxOwed = 10_000

// ending writes down how one detection ended; it can be repeated.
type ending func(ctx context.Context, tx *store.Tx) error

// owed are the ends that the database would not take, oldest first. A place
// that nobody gives back is lost to its account until the service is started
// again.
type owed struct {
	mu   sync.Mutex
	ids  []string
	ends map[string]ending
}

// add remembers an end. The first of a detection stands, and beyond maxOwed
// none is kept.
func (o *owed) add(id string, e ending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.ends[id]; known || len(o.ids) >= maxOwed {
		return
	}
	if o.ends == nil {
		o.ends = map[string]ending{}
	}
	o.ids, o.ends[id] = append(o.ids, id), e
}

// take removes the oldest end.
func (o *owed) take() (id string, e ending, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ids) == 0 {
		return "", nil, false
	}
	id = o.ids[0]
	e = o.ends[id]
	o.ids = o.ids[1:]
	delete(o.ends, id)
	return id, e, true
}

func (o *owed) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.ids)
}

// end runs e in a transaction that outlives ctx's cancellation, and remembers it
// for Retry when the database did not take it.
func (l *Ledger) end(ctx context.Context, id string, e ending) error {
	err := l.finish(ctx, e)
	if isForLater(err) {
		l.owed.add(id, e)
	}
	return err
}

// isForLater tells a database that may work again from an answer that stays.
func isForLater(err error) bool {
	return err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrComplete) && !errors.Is(err, ErrSuperseded)
}

// Retry writes down the ends (Fail, Release, Withdraw) that the database did not
// take when they came, such as while another process held its lock for too long
// or the disk was full, and takes out what ReserveAll may have accepted unheard. It
// stops at the first one that fails again, which goes to the end of the line, and
// returns how many are left; with none it touches nothing. It is meant to be called every few seconds.
func (l *Ledger) Retry(ctx context.Context) (left int, err error) {
	for range l.owed.count() {
		id, e, ok := l.owed.take()
		if !ok {
			break
		}
		err := l.write(ctx, e)
		if isForLater(err) {
			l.owed.add(id, e)
			return l.owed.count(), fmt.Errorf("end %s: %w", id, err)
		}
	}
	return l.owed.count(), nil
}

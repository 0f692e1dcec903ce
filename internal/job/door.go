package job

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"deepfaked/inference"
)

// stale is when a place that another process has freed is seen at the latest.
const stale = 250 * time.Millisecond

// door lets as many submissions through as there is room for in the queue, as far as this
// process knows: others are refused before anything of them is written to disk or asked of
// the database, which would take the time in which jobs are run. What it knows is what the
// database said last, less the jobs that have begun here since; it may be wrong about other
// processes, so what is let through may be refused by the database, and after stale one
// is let through to ask. It is safe for concurrent use.
type door struct {
	most int   // jobs that may wait
	busy error // what a refusal says besides its reason

	mu      sync.Mutex
	waiting counts
	coming  counts // submissions that were let through, until they are accepted or not
	asked   time.Time
	open    map[*question]struct{}
}

// question is put to the database from when it is asked until it is answered. What begins
// meanwhile may be counted in the answer as if it waited; of what is accepted meanwhile, which
// counts as less than none, the contrary holds.
type question struct{ begun counts }

// counts are jobs of each account.
type counts map[string]int

func (c counts) all() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

func (c counts) take(account string, n int) {
	if c[account] -= n; c[account] <= 0 {
		delete(c, account)
	}
}

func newDoor(opts Options) *door {
	busy := &inference.SaturatedError{RetryAfter: opts.RetryAfter}
	return &door{most: opts.Queue, busy: busy, waiting: counts{}, coming: counts{}, open: map[*question]struct{}{}}
}

// room says why no more jobs of an account may wait beside so many, or nil.
func (d *door) room(account string, waiting counts, left int) error {
	switch {
	case waiting[account] < left:
		return nil
	case left > 0:
		return fmt.Errorf("%w: %w", ErrShare, d.busy)
	}
	return fmt.Errorf("%w: %w", ErrFull, d.busy)
}

// enter lets a submission through, or says why not. What was let through is told of by
// answered, if it was accepted, or by leave.
func (d *door) enter(account string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	both := maps.Clone(d.waiting)
	for other, n := range d.coming {
		both[other] += n
	}
	if err := d.room(account, both, d.most-both.all()); err != nil {
		if time.Since(d.asked) < stale {
			return err
		}
		d.asked = time.Now() // this one asks
	}
	d.coming[account]++
	return nil
}

// leave is for a submission that was let through and not accepted.
func (d *door) leave(account string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.coming.take(account, 1)
}

// ask begins a question of how many jobs wait, which answered ends, and counting begins it anew
// when its turn at the database has come.
func (d *door) ask() *question {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := &question{counts{}}
	d.open[q] = struct{}{}
	return q
}

func (d *door) counting(q *question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(q.begun)
}

// answered tells what the database said, nil if it said nothing, and which jobs that were let
// through are among those that wait now.
func (d *door) answered(q *question, waiting counts, accepted []detection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, q)
	for _, j := range accepted {
		d.coming.take(j.Account, 1)
		for other := range d.open { // in whose answer it may be missing
			other.begun[j.Account]--
		}
	}
	if waiting == nil {
		return
	}
	d.waiting, d.asked = waiting, time.Now()
	for account, n := range q.begun {
		d.waiting.take(account, n)
	}
}

// begun is for a job that no longer waits.
func (d *door) begun(account string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting.take(account, 1)
	for q := range d.open {
		q.begun[account]++
	}
}

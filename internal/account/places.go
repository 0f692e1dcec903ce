package account

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"deepfaked/internal/store"
)

// ownPlaces are those that this process holds in memory, as no other process reserves
// any (Options.Alone): of synchronous scans until they end, and of jobs until the
// books have them. Of nil, which holds none, all methods may be called.
type ownPlaces struct {
	mu    sync.Mutex
	held  map[string]place // by detection
	taken map[allowance]int
	// turn is had by whoever writes places into the books. Between the commit and
	// the end of the place in memory there are two of it.
	turn chan struct{}
}

// allowance is what an account may use in the period that begins then.
type allowance struct {
	account string
	period  int64 // microseconds
}

// place is held for a submission.
type place struct {
	of         allowance
	submission Submission
	created    time.Time
}

func newPlaces() *ownPlaces {
	return &ownPlaces{held: map[string]place{}, taken: map[allowance]int{}, turn: make(chan struct{}, 1)}
}

// find returns the place of a detection.
func (p *ownPlaces) find(id string) (place, bool) {
	if p == nil {
		return place{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found, ok := p.held[id]
	return found, ok
}

// add holds a place. The caller has locked p.mu.
func (p *ownPlaces) add(s Submission, of allowance, now time.Time) error {
	if _, known := p.held[s.ID]; known {
		return fmt.Errorf("%s has a place already", s.ID)
	}
	p.held[s.ID] = place{of: of, submission: s, created: fromMicros(micros(now))}
	p.taken[of]++
	return nil
}

// drop ends those that there are, and reports whether there were any.
func (p *ownPlaces) drop(ids ...string) (found bool) {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		one, ok := p.held[id]
		if !ok {
			continue
		}
		found = true
		delete(p.held, id)
		if p.taken[one.of]--; p.taken[one.of] == 0 {
			delete(p.taken, one.of)
		}
	}
	return found
}

// written runs write, which puts the places of these detections into the books, and
// ends them in memory once it has.
func (p *ownPlaces) written(ctx context.Context, ids []string, write func() error) error {
	if p == nil {
		return write()
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.turn }()
	err := write()
	if err == nil {
		p.drop(ids...)
	}
	return err
}

// inMemory says whether the place of a submission stays there until it ends. What
// counts for the day goes into the books at once.
func (l *Ledger) inMemory(a Account, s Submission) bool {
	return l.own != nil && !s.Async && a.Plan.Daily == 0
}

// hold holds places in memory for all of them or for none. On other books than those
// of this process alone the transaction decides.
func (l *Ledger) hold(ctx context.Context, all []Request, now time.Time) error {
	if l.own == nil {
		return nil
	}
	for i, r := range all {
		err := l.inRoom(ctx, r.Account, now, func(of allowance) error { return l.own.add(r.Submission, of, now) })
		if err != nil {
			l.own.drop(detections(all[:i])...)
			return err
		}
	}
	return nil
}

// enter runs write, which puts the places of all of them, held in memory, into the
// books. They are not in memory afterwards, whatever came of it.
func (l *Ledger) enter(ctx context.Context, all []Request, write func() error) error {
	defer l.own.drop(detections(all)...)
	return l.own.written(ctx, detections(all), write)
}

func detections(all []Request) []string {
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = r.Submission.ID
	}
	return out
}

// inRoom calls have if there is room for one more, and else returns the reason. Where
// there seems to be none it looks again while no place is two.
func (l *Ledger) inRoom(ctx context.Context, a Account, now time.Time, have func(allowance) error) error {
	err := l.own.fit(ctx, l.store.Reader(), a, now, have)
	if !isRefusal(err) {
		return err
	}
	return l.own.written(ctx, nil, func() error {
		return l.own.fit(ctx, l.store.Reader(), a, now, have)
	})
}

// fit reads what is taken, in the books and in memory, and calls have if that leaves
// room. A place that is on its way into the books counts at least once.
func (p *ownPlaces) fit(ctx context.Context, books querier, a Account, now time.Time, have func(allowance) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	submitted, taken, err := written(ctx, books, a, now)
	if err != nil {
		return err
	}
	of := a.allowance(now)
	if err := a.Plan.fits(submitted, taken+p.taken[of], now); err != nil {
		return err
	}
	return have(of)
}

func isRefusal(err error) bool {
	_, day := errors.AsType[*LimitError](err)
	return day || errors.Is(err, ErrQuotaExceeded)
}

func (a Account) allowance(now time.Time) allowance {
	return allowance{account: a.ID, period: micros(a.Plan.PeriodStart(now, a.Created))}
}

// settle is complete for a detection whose place is in memory. One whose commit
// was not heard of is in the books already.
func (p place) settle(ctx context.Context, tx *store.Tx, d Detection) (Detection, error) {
	d.Created, d.Sensitivity = p.created, p.submission.Sensitivity
	result, err := tx.ExecContext(ctx, `
		INSERT INTO detections (id, account_id, mode, state, sensitivity, kind, verdict, confidence, report, created_at, completed_at)
		VALUES ($1, $2, $3, 'complete', $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (id) DO NOTHING`,
		d.ID, p.of.account, p.submission.mode(), d.Sensitivity,
		d.Kind, d.Verdict, d.Confidence, nullJSON(d.Report), micros(d.Created), micros(d.Completed))
	if err != nil {
		return d, err
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		stored, missed := detection(ctx, tx, byID, d.ID)
		return stored, errors.Join(err, missed)
	}
	return d, count(ctx, tx, p.of)
}

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
// any (Options.Alone): of synchronous scans until they end, and of whatever else is
// reserved while its transaction runs. Of nil, which holds none, find, drop and inTurn
// may be called.
type ownPlaces struct {
	mu    sync.Mutex
	held  map[string]place // by detection
	taken map[allowance]int
	// turn is had by whoever writes places into the books. Between the commit and
	// the end of the place in memory there are two of it, and what is being reserved
	// may come to nothing.
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

// holding holds a place for s in fit, which has locked p.mu.
func (p *ownPlaces) holding(s Submission, now time.Time) func(allowance) error {
	return func(of allowance) error {
		if _, known := p.held[s.ID]; known {
			return fmt.Errorf("%s has a place already", s.ID)
		}
		p.held[s.ID] = place{of: of, submission: s, created: fromMicros(micros(now))}
		p.taken[of]++
		return nil
	}
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

// errNoTurn says that a context ended before others had written.
var errNoTurn = errors.New("others are writing to the books")

// inTurn runs do while nobody else writes places into the books.
func (p *ownPlaces) inTurn(ctx context.Context, do func() error) error {
	if p == nil {
		return do()
	}
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNoTurn, ctx.Err())
	}
	defer func() { <-p.turn }()
	return do()
}

// inMemory says whether the place of a submission stays there until it ends. What
// counts for the day goes into the books at once.
func (l *Ledger) inMemory(r Request) bool {
	return l.own != nil && !r.Submission.Async && r.Account.Plan.Daily == 0
}

// enter runs write, which puts the places of all of them into the books. Meanwhile
// they are held in memory, for those who look only there.
func (l *Ledger) enter(ctx context.Context, all []Request, now time.Time, write func() error) error {
	if l.own == nil {
		return write()
	}
	return l.own.inTurn(ctx, func() error {
		for _, r := range all {
			if err := l.fit(ctx, r.Account, now, l.own.holding(r.Submission, now)); err != nil {
				return err
			}
			defer l.own.drop(r.Submission.ID)
		}
		return write()
	})
}

// errOwn says that the books have room and places in memory leave none.
var errOwn = fmt.Errorf("with what is under way: %w", ErrQuotaExceeded)

// inRoom calls have if there is room for one more, and else returns the reason. Where
// places in memory leave none it looks again in its turn, in which no place is two
// and none is undecided.
func (l *Ledger) inRoom(ctx context.Context, a Account, now time.Time, have func(allowance) error) error {
	err := l.fit(ctx, a, now, have)
	if !errors.Is(err, errOwn) {
		return err
	}
	return l.own.inTurn(ctx, func() error { return l.fit(ctx, a, now, have) })
}

// fit reads what is taken, in the books and in memory, and calls have if that leaves
// room. A place that is on its way into the books counts at least once.
func (l *Ledger) fit(ctx context.Context, a Account, now time.Time, have func(allowance) error) error {
	l.own.mu.Lock()
	defer l.own.mu.Unlock()
	submitted, taken, err := booked(ctx, l.store.Reader(), a, now)
	if err != nil {
		return err
	}
	if err := a.Plan.fits(submitted, taken, now); err != nil {
		return err
	}
	of := a.allowance(now)
	if a.Plan.fits(submitted, taken+l.own.taken[of], now) != nil {
		return errOwn
	}
	return have(of)
}

// anyRoom only asks for room in fit.
func anyRoom(allowance) error { return nil }

func (a Account) allowance(now time.Time) allowance {
	return allowance{account: a.ID, period: micros(a.Plan.PeriodStart(now, a.Created))}
}

// settle is complete for a detection whose place is in memory. One whose commit
// was not heard of is in the books already.
func (p place) settle(ctx context.Context, tx *store.Tx, d Detection) (Detection, error) {
	d.Created, d.Sensitivity = p.created, p.submission.Sensitivity
	result, err := tx.ExecContext(ctx, `
		INSERT INTO detections (id, account_id, mode, state, sensitivity, kind, verdict, confidence, report, created_at, completed_at, period)
		VALUES ($1, $2, $3, 'complete', $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (id) DO NOTHING`,
		d.ID, p.of.account, p.submission.mode(), d.Sensitivity,
		d.Kind, d.Verdict, d.Confidence, nullJSON(d.Report), micros(d.Created), micros(d.Completed), p.of.period)
	if err != nil {
		return d, err
	}
	if n, err := result.RowsAffected(); n == 1 || err != nil {
		return d, errors.Join(err, count(ctx, tx, p.of))
	}
	stored, err := detection(ctx, tx, byID, d.ID)
	if err == nil && stored.State != Complete {
		err = fmt.Errorf("%s is a job's", d.ID)
	}
	return stored, err
}

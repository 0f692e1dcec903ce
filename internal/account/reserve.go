package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// Check asks, without changing anything, whether a submission would be
// accepted now. The error is a *LimitError when the daily limit is used up,
// else ErrQuotaExceeded when the allowance is. Reserve decides again: what Check
// has seen may be gone by then.
func (l *Ledger) Check(ctx context.Context, a Account) error {
	look, cancel := context.WithTimeout(ctx, l.look)
	defer cancel()
	if err := l.check(look, a); err != nil && (!errors.Is(err, errNoTurn) || ctx.Err() != nil) {
		return fmt.Errorf("check the quota: %w", err)
	}
	return nil // or the books have room and others are writing for long
}

func (l *Ledger) check(ctx context.Context, a Account) error {
	if l.own != nil {
		return l.inRoom(ctx, a, l.now(), anyRoom)
	}
	return room(ctx, l.store.Reader(), a, l.now())
}

// Reserve accepts a submission: it counts it for the day where the plan bounds
// that, holds a place in the current period's allowance and notes the detection as
// processing, all in one transaction, or where this process is alone and no day is
// counted, holds the place in memory. The errors are Check's. After success one of
// Settle, Fail (of a job), Release and Withdraw must be called for s.ID. An asynchronous
// one survives a power failure from then on; of a synchronous one, whose client such a
// failure leaves without an answer, nothing need be left. A transaction once begun does
// its work even when ctx is cancelled: a commit that is broken off may take effect after
// the place has been given back, and then nobody would give it back again.
func (l *Ledger) Reserve(ctx context.Context, a Account, s Submission) error {
	err := ctx.Err()
	switch r := (Request{a, s}); {
	case err != nil:
	case l.inMemory(r):
		now := l.now()
		err = l.inRoom(ctx, a, now, l.own.holding(s, now))
	default:
		err = l.reserveOne(ctx, r)
	}
	if err != nil {
		return fmt.Errorf("reserve a scan: %w", err)
	}
	return nil
}

func (l *Ledger) reserveOne(ctx context.Context, r Request) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.work)
	defer cancel()
	write := l.store.WriteUnsynced
	if r.Submission.Async {
		write = l.store.Write
	}
	now := l.now()
	return l.enter(ctx, []Request{r}, now, func() error {
		return l.hear(ctx, []Request{r}, write(ctx, func(tx *store.Tx) error { return l.reserve(ctx, tx, r.Account, r.Submission, now) }))
	})
}

func (l *Ledger) reserve(ctx context.Context, tx *store.Tx, a Account, s Submission, now time.Time) error {
	if l.store.Postgres() != nil {
		fits, err := takePlace(tx, a, s, l.holder(s), now)
		if err := errors.Join(err, tx.Flush(ctx)); err != nil {
			return err
		}
		return fits()
	}
	if err := room(ctx, tx, a, now); err != nil {
		return err
	}
	return accept(ctx, tx, a, s, l.holder(s), now)
}

// Request is a submission of an account.
type Request struct {
	Account    Account
	Submission Submission
}

// errTogether says that several requests have no room together; some of them may
// have it.
var errTogether = errors.New("there is not enough room for all of the requests")

// ReserveAll is Reserve for several asynchronous submissions in one transaction:
// all of them are accepted or none is. What also does becomes true with them or
// not at all. The error of a single one is Reserve's. Several do not wait for long
// for an account that another process has locked: whatever their error, each should
// be reserved alone, but for a *store.UnknownError. Then they may be accepted all the
// same, for as long as the database can't be asked, and Retry takes them out.
func (l *Ledger) ReserveAll(ctx context.Context, all []Request, also ...Step) error {
	now := l.now()
	err := l.enter(ctx, all, now, func() error {
		return l.hear(ctx, all, l.write(ctx, func(ctx context.Context, tx *store.Tx) error { return l.reserveAll(ctx, tx, all, also, now) }))
	})
	if IsUnknown(err) {
		l.disown(all)
	}
	if err != nil {
		return fmt.Errorf("reserve a scan: %w", err)
	}
	return nil
}

func (l *Ledger) reserveAll(ctx context.Context, tx *store.Tx, all []Request, also []Step, now time.Time) error {
	if l.store.Postgres() != nil && len(all) > 0 {
		return l.reserveWith(ctx, tx, all, also, now)
	}
	if err := steps(ctx, tx, also); err != nil {
		return err
	}
	for _, r := range all {
		if err := l.reserve(ctx, tx, r.Account, r.Submission, now); err != nil {
			return err
		}
	}
	return nil
}

// Step is done in a transaction of the ledger.
type Step func(ctx context.Context, tx *store.Tx) error

func steps(ctx context.Context, tx *store.Tx, also []Step) error {
	for _, step := range also {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// querier is a transaction or a pool of readers.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// room refuses when the day or the allowance is full, in this order.
func room(ctx context.Context, q querier, a Account, now time.Time) error {
	submitted, taken, err := booked(ctx, q, a, now)
	if err != nil {
		return err
	}
	return a.Plan.fits(submitted, taken, now)
}

// booked is what the books say of an account.
func booked(ctx context.Context, q querier, a Account, now time.Time) (submitted, taken int, err error) {
	err = q.QueryRowContext(ctx, placesTaken, a.ID, dayNumber(now), a.allowance(now).period).Scan(&submitted, &taken)
	return submitted, taken, err
}

// placesTaken is what an account, $1, has submitted in a day, $2, and has used and
// reserved in a period, $3.
const placesTaken = `
	SELECT
	  coalesce((SELECT count FROM submissions WHERE account_id = $1 AND day = $2), 0) AS submitted,
	  coalesce((SELECT count FROM scans WHERE account_id = $1 AND period = $3), 0)
	  + (SELECT count(*) FROM reservations WHERE account_id = $1 AND period = $3) AS taken`

// fits refuses one more.
func (p Plan) fits(submitted, taken int, now time.Time) error {
	switch {
	case p.Daily > 0 && submitted >= p.Daily:
		return &LimitError{Limit: p.Daily, RetryAfter: untilMidnight(now)}
	case taken >= p.Scans:
		return ErrQuotaExceeded
	}
	return nil
}

func (s Submission) mode() string {
	if s.Async {
		return "async"
	}
	return "sync"
}

// accept writes what Reserve promises.
func accept(ctx context.Context, tx *store.Tx, a Account, s Submission, holder sql.NullString, now time.Time) error {
	var counted error
	if a.Plan.Daily > 0 {
		_, counted = tx.ExecContext(ctx, `
			INSERT INTO submissions (account_id, day, count) VALUES ($1, $2, 1)
			ON CONFLICT (account_id, day) DO UPDATE SET count = submissions.count + 1`,
			a.ID, dayNumber(now))
	}
	period := a.allowance(now).period
	_, noted := tx.ExecContext(ctx, `
		INSERT INTO detections (id, account_id, mode, state, sensitivity, created_at, period)
		VALUES ($1, $2, $3, 'processing', $4, $5, $6)`,
		s.ID, a.ID, s.mode(), s.Sensitivity, micros(now), period)
	_, held := tx.ExecContext(ctx, `
		INSERT INTO reservations (detection_id, account_id, period, process) VALUES ($1, $2, $3, $4)`,
		s.ID, a.ID, period, holder)
	return errors.Join(counted, noted, held)
}

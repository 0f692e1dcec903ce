package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// finishing bounds the transactions that begin or end a detection. They don't end with
// the caller's context: a client that has gone must not leave its place held. What
// nobody waits for has the same bound: behind it stands whatever else has to be tended to.
const finishing = 30 * time.Second

// write is the store's Write with that bound.
func (l *Ledger) write(ctx context.Context, fn ending) error {
	ctx, cancel := context.WithTimeout(ctx, l.work)
	defer cancel()
	return l.store.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) })
}

// finish runs fn in a transaction that outlives ctx's cancellation. Where it comes to
// something, the places in memory of what it settles end.
func (l *Ledger) finish(ctx context.Context, fn ending, settled ...string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.work)
	defer cancel()
	return l.own.inTurn(ctx, func() error {
		err := l.store.Write(ctx, func(tx *store.Tx) error { return fn(ctx, tx) })
		if err == nil {
			l.own.drop(settled...)
		}
		return err
	})
}

// Settle stores the outcome of a detection and turns its place into a scan of
// the period it was reserved in, in one transaction. Settling again changes
// and counts nothing, and returns what the first call stored. The error is
// ErrNotFound for an id that was never reserved or was released, and ErrFailed
// for one that has failed. It does its work even when ctx is cancelled.
func (l *Ledger) Settle(ctx context.Context, id string, o Outcome) (Detection, error) {
	s := &settling{id: id, outcome: o}
	if err := l.share(ctx, s); err != nil {
		return Detection{}, fmt.Errorf("settle %s: %w", id, err)
	}
	return s.detection, nil
}

// Ended is what came of the analysis of a detection.
type Ended struct {
	ID      string
	Outcome Outcome
}

// SettleAll is Settle for several detections in one transaction: all of them are
// settled or none is, and the error is one of theirs. What also does becomes true
// with them or not at all. Several do not wait for long for a row that another
// process has locked: then the error says so, and each should be settled alone.
func (l *Ledger) SettleAll(ctx context.Context, all []Ended, also ...Step) error {
	err := l.finish(ctx, func(ctx context.Context, tx *store.Tx) error {
		// What others wait for to be counted is done last.
		if err := steps(ctx, tx, also); err != nil {
			return err
		}
		return l.settleAll(ctx, tx, all)
	}, ids(all)...)
	if err != nil {
		return fmt.Errorf("settle %s: %w", named(all), err)
	}
	return nil
}

func (l *Ledger) settleAll(ctx context.Context, tx *store.Tx, all []Ended) (err error) {
	if len(all) > 1 && l.store.Postgres() != nil {
		if all, err = settleTogether(ctx, tx, all, l.now()); err != nil {
			return err
		}
	}
	for _, e := range all {
		if _, err := l.settle(ctx, tx, e.ID, e.Outcome); err != nil {
			return err
		}
	}
	return nil
}

func ids(all []Ended) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = e.ID
	}
	return out
}

// named is what an error calls them.
func named(all []Ended) string {
	if len(all) == 1 {
		return all[0].ID
	}
	return fmt.Sprintf("%d detections", len(all))
}

func (l *Ledger) settle(ctx context.Context, tx *store.Tx, id string, o Outcome) (Detection, error) {
	now := fromMicros(micros(l.now()))
	if p, ok := l.own.find(id); ok {
		return p.settle(ctx, tx, Detection{ID: id, State: Complete, Outcome: o, Completed: now})
	}
	if l.store.Postgres() != nil {
		d := Detection{ID: id, Outcome: o, Completed: now}
		if done, err := settleAtOnce(ctx, tx, &d); done || err != nil {
			return d, err
		}
	}
	d, err := detection(ctx, tx, byID, id)
	switch {
	case err != nil:
		return d, err
	case d.State == Failed:
		return d, ErrFailed
	case d.State == Complete:
		return d, nil
	}
	d.State, d.Outcome, d.Completed = Complete, o, now
	return d, complete(ctx, tx, d)
}

// held reads a detection that no other transaction ends meanwhile.
func held(ctx context.Context, tx *store.Tx, id string) (Detection, error) {
	if err := tx.Lock(ctx, "detections", id); err != nil {
		return Detection{}, err
	}
	return detection(ctx, tx, byID, id)
}

// complete stores d's outcome and counts it.
func complete(ctx context.Context, tx *store.Tx, d Detection) error {
	_, stored := tx.ExecContext(ctx, `
		UPDATE detections SET state = 'complete', kind = $1, verdict = $2, confidence = $3, report = $4, completed_at = $5
		WHERE id = $6`,
		d.Kind, d.Verdict, d.Confidence, nullJSON(d.Report), micros(d.Completed), d.ID)
	var of allowance
	released := tx.QueryRowContext(ctx, `
		DELETE FROM reservations WHERE detection_id = $1 RETURNING account_id, period`, d.ID).
		Scan(&of.account, &of.period)
	if err := errors.Join(stored, released); err != nil {
		return err
	}
	return count(ctx, tx, of)
}

// count counts a scan.
func count(ctx context.Context, tx *store.Tx, of allowance) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO scans (account_id, period, count) VALUES ($1, $2, 1)
		ON CONFLICT (account_id, period) DO UPDATE SET count = scans.count + 1`, of.account, of.period)
	return err
}

// Fail ends an asynchronous detection with a sentence for the client and
// releases its place. Failing again changes nothing. The error is ErrNotFound
// for an unknown id and ErrComplete for one that has completed. It does its
// work even when ctx is cancelled, and what the database does not take is left
// to Retry. What also does becomes true with the failure or not at all.
func (l *Ledger) Fail(ctx context.Context, id, message string, also ...Step) error {
	err := l.end(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		if err := steps(ctx, tx, also); err != nil { // in Settle's order: they lock rows
			return err
		}
		d, err := held(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case d.State == Complete:
			return ErrComplete
		case d.State == Failed:
			return nil
		}
		_, released := tx.ExecContext(ctx, `DELETE FROM reservations WHERE detection_id = $1`, id)
		_, failed := tx.ExecContext(ctx, `
			UPDATE detections SET state = 'failed', error = $1, completed_at = $2 WHERE id = $3`,
			plain(message), micros(l.now()), id)
		return errors.Join(released, failed)
	})
	if err != nil {
		return fmt.Errorf("fail %s: %w", id, err)
	}
	return nil
}

// Release takes a detection that is still processing out of the books: its
// place is free again and nothing is left but its count for the day. It is how
// a synchronous analysis ends whose file can't be judged, or whose client has
// gone. For a detection that is complete, failed or unknown it does nothing, so
// that it can be deferred, but not while Settle runs for it. It does its work even when ctx is cancelled, and what
// the database does not take is left to Retry.
func (l *Ledger) Release(ctx context.Context, id string) error {
	if l.own.drop(id) {
		return nil
	}
	err := l.end(ctx, id, func(ctx context.Context, tx *store.Tx) error {
		if err := l.afterItBegan(tx, id); err != nil {
			return err
		}
		// The reservation goes with it (ON DELETE CASCADE).
		_, err := tx.ExecContext(ctx, `DELETE FROM detections WHERE id = $1 AND state = 'processing'`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("release %s: %w", id, err)
	}
	return nil
}

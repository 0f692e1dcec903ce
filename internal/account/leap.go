package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"deepfaked/internal/store"
)

// A clock that leaps ahead, after a dead battery or by a wrong time server, would have
// everything deleted that it takes for old, and nothing brings that back. A service that
// was off for two months looks the same from within. So such a clock is heard, and
// believed a day later.
const (
	leap  = 3 * day // beyond what was seen last; a weekend is none
	doubt = day     // for an operator to put the clock right
)

// LeapError says that nothing is deleted for now, as the clock may be wrong.
type LeapError struct {
	Now, Seen, Until time.Time
}

// Error is a sentence for an operator.
func (e *LeapError) Error() string {
	return fmt.Sprintf("the clock says %s, %.0f days after it was last seen (%s): nothing is deleted before %s; "+
		"if it is wrong, put it right until then, and if the service was off for so long, leave it",
		e.Now.Format(time.DateTime), e.Now.Sub(e.Seen).Hours()/24, e.Seen.Format(time.DateTime), e.Until.Format(time.DateTime))
}

// believe remembers that it is now, and is a *LeapError while that is in doubt.
func (l *Ledger) believe(ctx context.Context, now time.Time) error {
	var is sighting
	err := l.write(ctx, func(ctx context.Context, tx *store.Tx) error {
		was, err := lastSeen(ctx, tx, now)
		if err != nil {
			return err
		}
		is = was.at(micros(now))
		_, err = tx.ExecContext(ctx, `
			INSERT INTO clock (id, seen_at, doubted_at) VALUES (1, $1, $2)
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, doubted_at = excluded.doubted_at`, is.seen, is.doubted)
		return err
	})
	if err != nil {
		return fmt.Errorf("see whether the clock is right: %w", err)
	}
	if is.doubted.Valid {
		return &LeapError{Now: now.UTC(), Seen: fromMicros(is.seen), Until: fromMicros(is.doubted.Int64).Add(doubt)}
	}
	return nil
}

// sighting is what is remembered of the clock.
type sighting struct {
	seen    int64         // the latest time that was believed
	doubted sql.NullInt64 // since when, by the clock itself, it is not
}

// at is the sighting after another look. A clock that went back deletes nothing too soon,
// and takes nothing from what was seen: without a battery each start would be a leap.
func (s sighting) at(now int64) sighting {
	since := s.doubted.Int64
	switch {
	case now-s.seen <= leap.Microseconds(), s.doubted.Valid && now-since >= doubt.Microseconds():
		return sighting{seen: max(s.seen, now)}
	case s.doubted.Valid && now >= since:
		return s
	}
	return sighting{s.seen, sql.NullInt64{Int64: now, Valid: true}}
}

// lastSeen is the last sighting. In books of versions that kept none it is the latest end
// of a detection, and without any the clock is believed.
func lastSeen(ctx context.Context, tx *store.Tx, now time.Time) (s sighting, err error) {
	err = tx.QueryRowContext(ctx, `SELECT seen_at, doubted_at FROM clock`).Scan(&s.seen, &s.doubted)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, `
			SELECT coalesce(max(completed_at), $1) FROM detections WHERE completed_at IS NOT NULL`, micros(now)).Scan(&s.seen)
	}
	return s, err
}

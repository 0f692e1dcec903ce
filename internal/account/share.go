package account

import (
	"context"

	"deepfaked/internal/store"
)

// together is how many detections are settled in a transaction at the most.
const together = 32

// settling is a call of Settle.
type settling struct {
	id        string
	outcome   Outcome
	detection Detection // what is stored
}

// share settles s together with all that come while another transaction is under
// way: SQLite has one at a time, and each waits for the disk. PostgreSQL has them
// side by side, and its syncs are shared already.
func (l *Ledger) share(ctx context.Context, s *settling) error {
	if l.store.Postgres() != nil {
		return l.settleSeveral(ctx, []*settling{s})
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.work)
	defer cancel()
	return l.settles.Do(ctx, s)
}

// settleSeveral settles all of them in one transaction, or none.
func (l *Ledger) settleSeveral(ctx context.Context, all []*settling) error {
	ids := make([]string, len(all))
	for i, s := range all {
		ids[i] = s.id
	}
	return l.finish(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		for _, s := range all {
			if s.detection, err = l.settle(ctx, tx, s.id, s.outcome); err != nil {
				return err
			}
		}
		return nil
	}, ids...)
}

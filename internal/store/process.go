package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Process is this process among those that work on a database. What each has
// begun and not ended bears its id, so that others can end it for one that has
// gone. It is safe for concurrent use.
type Process struct {
	store *Store
	id    string
	clock clock
	stop  func()
}

// Join enters this process among those at work, until Leave. On PostgreSQL it
// says from then on, in a goroutine of its own, that it is still there. On SQLite
// the caller holds the folder's Claim, so that whoever was there before has gone.
func (s *Store) Join(ctx context.Context, logger *slog.Logger) (*Process, error) {
	host, _ := os.Hostname()
	p := &Process{store: s, id: fmt.Sprintf("%.60s_%s", host, strings.ToLower(ulid.Make().String())), stop: func() {}}
	if err := p.enter(ctx); err != nil {
		return nil, s.explain("enter the process", err)
	}
	if s.pool != nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		var beating sync.WaitGroup
		beating.Go(func() { p.beat(ctx, logger) })
		p.stop = func() { cancel(); beating.Wait() }
	}
	return p, nil
}

// ID names the process; no other ever had the same.
func (p *Process) ID() string { return p.id }

// Now is the time by the database's clock, which is the same for all processes. On
// SQLite it is the machine's. Its error is a part of how long the database took to
// answer when the process last said that it is there.
func (p *Process) Now() time.Time { return p.clock.now() }

// Leave takes the process from those at work: what it has not ended is left to
// the others. It is idempotent.
func (p *Process) Leave() error {
	p.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := p.store.WriteUnsynced(ctx, func(tx *Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM processes WHERE id = $1`, p.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("leave the processes at work: %w", err)
	}
	return nil
}

func (p *Process) enter(ctx context.Context) error {
	if p.store.pool != nil {
		return p.seen(ctx)
	}
	return p.store.WriteUnsynced(ctx, func(tx *Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM processes`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO processes (id) VALUES ($1)`, p.id)
		return err
	})
}

// beat says again and again that the process is there.
func (p *Process) beat(ctx context.Context, logger *slog.Logger) {
	ticker := time.NewTicker(p.store.lost / 6)
	defer ticker.Stop()
	for silent := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		within, cancel := context.WithTimeout(ctx, p.store.lost/2)
		err := p.seen(within)
		cancel()
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !silent:
			logger.Error("the database could not be told that this process is alive; that is tried again", "error", err)
		case err == nil && silent:
			logger.Info("the database knows again that this process is alive")
		}
		silent = err != nil
	}
}

// seen enters the process by the database's clock, and hears what that says. After a
// silence it begins anew: it may have been the database that nobody reached. So it does
// where that clock has been put back, and the others have not been heard of since.
func (p *Process) seen(ctx context.Context) error {
	return p.store.WriteUnsynced(ctx, func(tx *Tx) error {
		asked, now := time.Now(), time.Time{}
		err := tx.QueryRowContext(ctx, `
			INSERT INTO processes (id, since, seen_at) VALUES ($1, clock_timestamp(), clock_timestamp())
			ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at,
			  since = CASE WHEN `+p.store.near("processes.seen_at", "clock_timestamp()")+` THEN processes.since ELSE excluded.since END
			RETURNING clock_timestamp()`, p.id).Scan(&now)
		if err == nil {
			p.clock.hear(now, asked)
		}
		return err
	})
}

// recent is a condition for the time, in SQL, at which a process that is at work was heard
// of. What it is compared with is one in all of a transaction: where the database stands
// still in the middle, all have been silent. Where its clock is put back, whoever was heard
// of just before is ahead of one that was heard of a while before, and takes it for near.
func (s *Store) recent(at string) string {
	return at + " > now() - " + s.silence() + " AND " + at + " < greatest(now(), clock_timestamp()) + 2 * " + s.silence()
}

// near is a condition for a time that lies no further before now than a process may be
// silent, and no further ahead of the clock: later ones are from when that was wrong.
func (s *Store) near(at, now string) string {
	return at + " > " + now + " - " + s.silence() + " AND " + at + " < clock_timestamp() + " + s.silence()
}

// silence is for how long a process may not be heard of.
func (s *Store) silence() string {
	return fmt.Sprintf("interval '%d microseconds'", s.lost.Microseconds())
}

// AtWork is a subquery for the ids of the processes that are at work.
func (s *Store) AtWork() string {
	if s.pool == nil {
		return "SELECT id FROM processes"
	}
	return "SELECT id FROM processes WHERE " + s.recent("seen_at")
}

// Lately is a condition for what was begun, at the time that begun is in SQL, when its
// process was there, whether or not that has said so since: one that comes back after a
// silence may begin something first. On SQLite, where whoever was there before has gone,
// nothing was.
func (s *Store) Lately(begun string) string {
	if s.pool == nil {
		return "FALSE"
	}
	return s.recent(begun)
}

// Inherit runs fn as Write does, for fn to end what processes have left that are
// no longer at work. On PostgreSQL fn is not run, which is no error, while another
// process does so, and until this one has been there for as long as the others may
// be silent: before that nobody may have reached the database.
func (p *Process) Inherit(ctx context.Context, fn func(*Tx) error) error {
	return p.store.Write(ctx, func(tx *Tx) error {
		if p.store.pool == nil {
			return fn(tx)
		}
		heir := false
		err := tx.QueryRowContext(ctx, `
			SELECT EXISTS (SELECT FROM processes WHERE id = $1 AND `+p.store.near("seen_at", "now()")+` AND since < now() - `+p.store.silence()+`)
			  AND pg_try_advisory_xact_lock($2)`, p.id, lockKey("inheritance")).Scan(&heir)
		if err != nil || !heir {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM processes WHERE seen_at < clock_timestamp() - interval '1 day'`); err != nil {
			return err
		}
		return fn(tx)
	})
}

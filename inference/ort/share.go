package ort

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"deepfaked/models"
)

// How the cores are measured: so many turns of each way, of so long in all, with
// at most so many sessions. Larger machines are reckoned from those.
const (
	shareRounds   = 3
	shareBudget   = 600 * time.Millisecond
	shareSessions = 8
	shareBatch    = 2
)

// good is the share of the best throughput at which a way with fewer sessions is
// preferred: it answers a lone row sooner, and takes less memory.
const good = 0.9

// way is one to share the cores out.
type way struct {
	sessions, threads int
	rate              float64 // rows a second of all sessions, the best of all turns
}

// ways are those to measure: from eight threads for a session, beyond which small
// networks gain nothing, to one.
func ways(cores int) (all []way) {
	for threads := 8; threads >= 1; threads /= 2 {
		if threads <= cores {
			all = append(all, way{sessions: cores / threads, threads: threads})
		}
	}
	return all
}

// Share chooses how many sessions of how many threads share the cores, by running
// model in each way for a short time (shareBudget, and what it takes to make the
// sessions). Where the options name sessions or threads, or the provider is not
// CPU, it does nothing. It is for before NewSessions: it changes what that makes.
func (e *Environment) Share(model *models.Model) error {
	all := ways(Cores())
	if !e.free || len(all) == 1 {
		return nil
	}
	err := e.measure(model, all)
	if err != nil {
		return err
	}
	best := choose(all)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.Sessions, e.opts.IntraOpThreads = best.sessions, best.threads
	for _, w := range all {
		e.logger.Info("cores measured", "sessions", w.sessions, "intra_op_threads", w.threads, "rows_per_second", int(w.rate), "chosen", w == best)
	}
	return nil
}

// choose is the way with the fewest sessions among those that are good.
func choose(all []way) way {
	best := 0.
	for _, w := range all {
		best = max(best, w.rate)
	}
	for _, w := range all {
		if w.rate >= good*best {
			return w
		}
	}
	return all[0]
}

// measure fills the rates in. The ways take turns, so that what else runs on the
// machine hits all of them, and each is told its best turn.
func (e *Environment) measure(model *models.Model, all []way) (err error) {
	sessions := make([][]*Session, len(all))
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, closeAll(s))
		}
	}()
	for i, w := range all {
		opts := e.opts
		opts.IntraOpThreads = w.threads
		if sessions[i], err = e.several(model, shareBatch, min(w.sessions, shareSessions), opts); err != nil {
			return err
		}
	}
	for range shareRounds {
		for i, w := range all {
			rate, err := throughput(sessions[i], shareBudget/time.Duration(shareRounds*len(all)))
			if err != nil {
				return err
			}
			rate *= float64(w.sessions) / float64(len(sessions[i]))
			all[i].rate = max(w.rate, rate)
		}
	}
	return nil
}

// throughput is how many rows a second the sessions do side by side.
func throughput(sessions []*Session, length time.Duration) (float64, error) {
	var rows atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, len(sessions))
	start := time.Now()
	for i, s := range sessions {
		all.Go(func() {
			for errs[i] == nil && time.Since(start) < length {
				_, errs[i] = s.Run(shareBatch)
				rows.Add(shareBatch)
			}
		})
	}
	all.Wait()
	return float64(rows.Load()) / time.Since(start).Seconds(), errors.Join(errs...)
}

// closeAll closes those that were made.
func closeAll(sessions []*Session) (err error) {
	for _, s := range sessions {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

package inference

import (
	"context"
	"math"
	"sync"
	"time"
)

// gate bounds the files that are decoded and judged at the same time, and how
// long others wait for that. Frames of a decoded file take memory, so files wait
// here, undecoded. It is safe for concurrent use.
type gate struct {
	opts       DetectorOptions
	mu         sync.Mutex
	turns      *turns        // of the files that wait
	waiting    int           // interactive ones
	running    int           // places taken
	background int           // of those, by jobs: half at most, so that people find places
	inside     time.Duration // predicted cost of all that run
	costs      costs
	empty      time.Time // when no interactive file waited last
}

// visit is one file's way through the gate.
type visit struct {
	entry  entry // while it waits; its cost is that of its places together
	class  class
	places int
	turn   chan struct{} // closed when it may run, or there is a reason why it may not
	start  time.Time     // when it began to
	late   error         // that reason
}

func newGate(opts DetectorOptions) *gate {
	return &gate{opts: opts, turns: newTurns(1, opts.BackgroundDelay), costs: costs{}, empty: time.Now()}
}

// enter waits for a place. The caller gives it back by calling leave once, and says
// whether the file was judged: what ended before tells little of what it takes. A
// *SaturatedError says at once that the wait would be too long, or, where others took
// longer than was to be seen, that it was.
func (g *gate) enter(ctx context.Context, req Request) (leave func(judged bool), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked := time.Now()
	v := &visit{class: classOf(req), turn: make(chan struct{})}
	v.places = min(v.class.places(), g.opts.Parallel)
	v.entry = entry{payer: payer{req.Account, req.Priority}, visit: v, rows: 1}
	if err := g.queue(ctx, v); err != nil {
		return nil, err
	}
	if err := req.admitted(); err != nil {
		g.abandon(v)
		return nil, err
	}
	select {
	case <-v.turn:
	case <-ctx.Done():
		g.abandon(v)
		err = ctx.Err()
	}
	if v.late != nil {
		return nil, v.late
	}
	if err != nil {
		return nil, err
	}
	if g.opts.Observer != nil {
		g.opts.Observer.Entered(time.Since(asked))
	}
	return func(judged bool) { g.leave(v, judged) }, nil
}

// queue gives the file its place in the line, unless its wait would be too long.
func (g *gate) queue(ctx context.Context, v *visit) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	took := max(g.costs.of(v.class), 1)
	v.entry.cost, v.entry.since = took*time.Duration(v.places), now
	v.entry.deadline = now.Add(math.MaxInt64 / 2)
	if deadline, ok := ctx.Deadline(); ok {
		v.entry.deadline = deadline
	}
	if v.entry.payer.priority == Interactive {
		if err := g.refuse(v, took, now); err != nil {
			return err
		}
		g.waiting++
	}
	g.turns.add(&v.entry)
	g.dispatch(now)
	return nil
}

// doubt is what part of a predicted time a file may take longer. Those let in
// right up to their deadline would be judged for nothing every other time.
const doubt = 4

// refuse says whether an interactive file would wait for longer than it may, or
// beyond its deadline. Background work has no caller who waits: whoever submits
// it bounds it. A file that finds a place is never refused, so that predictions
// that were too high are put right.
func (g *gate) refuse(v *visit, took time.Duration, now time.Time) error {
	if g.waiting == 0 {
		g.empty = now
		if g.room(v) {
			return nil
		}
	}
	wait := g.predict(v, now)
	end := wait + took
	hopeless := now.Add(end + end/doubt).After(v.entry.deadline)
	if hopeless || wait > g.patience(now) || g.waiting >= g.opts.Waiting {
		return &SaturatedError{RetryAfter: max(wait, time.Second)}
	}
	return nil
}

// patience is the longest wait at present. A burst may wait for long, since it
// passes; where the line has not been empty for a while, a long line helps
// nobody: it would only make everybody late. Among long videos, that is as long
// as one of them takes.
func (g *gate) patience(now time.Time) time.Duration {
	standing := max(g.opts.Wait, g.inside/time.Duration(g.opts.Parallel))
	if now.Sub(g.empty) > standing {
		return min(standing, g.opts.Burst)
	}
	return g.opts.Burst
}

// predict is how long v would wait: for the half of what runs, and for all that
// waits and goes before it.
func (g *gate) predict(v *visit, now time.Time) time.Duration {
	return (g.inside/2 + g.turns.ahead(&v.entry, now)) / time.Duration(g.opts.Parallel)
}

// room says whether there are places for v.
func (g *gate) room(v *visit) bool { return g.running+v.places <= g.opts.Parallel }

// dispatch lets in who is next as long as there are places. Nobody slips past one who
// needs more of them.
func (g *gate) dispatch(now time.Time) {
	for g.running < g.opts.Parallel {
		e := g.next(now)
		if e == nil {
			break
		}
		if g.isLate(e, now) {
			g.turnAway(e, now)
			continue
		}
		if !g.room(e.visit) {
			break
		}
		g.turns.serve(e)
		g.turns.take(e)
		g.count(e.visit, 1)
		e.visit.start = now
		close(e.visit.turn)
	}
	if g.waiting == 0 {
		g.empty = now
	}
}

// next is whose turn it is. Jobs together have half of the places at most; one that needs
// more runs as the only one.
func (g *gate) next(now time.Time) *entry {
	e := g.turns.first(0, now, true)
	if e != nil && e.payer.priority == Background && g.background > 0 && g.background+e.visit.places > g.opts.Parallel/2 {
		return g.turns.first(0, now, false)
	}
	return e
}

// isLate says whether a file that has waited would be done after its deadline. The
// processors may be slower than they were when it was let into the line; to begin all
// the same would end in no answer to anybody. Background work has no caller who waits.
func (g *gate) isLate(e *entry, now time.Time) bool {
	return e.payer.priority == Interactive && e.since.Before(now) && now.Add(g.costs.of(e.visit.class)).After(e.deadline)
}

// turnAway takes out a file that has waited in vain.
func (g *gate) turnAway(e *entry, now time.Time) {
	g.drop(e)
	e.visit.late = &SaturatedError{RetryAfter: max(g.predict(e.visit, now), time.Second)}
	close(e.visit.turn)
}

// drop takes out a file that waits.
func (g *gate) drop(e *entry) {
	g.turns.drop(e)
	if e.payer.priority == Interactive {
		g.waiting--
	}
}

// count says that v runs now, or, with -1, that it does no longer.
func (g *gate) count(v *visit, n int) {
	g.running += n * v.places
	g.inside += time.Duration(n) * v.entry.cost
	if v.entry.payer.priority == Background {
		g.background += n * v.places
	} else if n > 0 {
		g.waiting--
	}
}

// abandon takes out a file whose caller has gone, or has waited until its deadline,
// perhaps after its turn came.
func (g *gate) abandon(v *visit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch {
	case v.late != nil:
	case v.entry.rows == 0:
		g.count(v, -1)
	case g.isLate(&v.entry, now):
		g.turnAway(&v.entry, now)
	default:
		g.drop(&v.entry)
	}
	g.dispatch(now)
}

// leave frees the place of v. What it took is remembered when it was judged; when it was
// not, as with a damaged file, at most that such files take longer than they were thought
// to.
func (g *gate) leave(v *visit, judged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if took := now.Sub(v.start); judged || took > g.costs.of(v.class) {
		g.costs.observe(v.class, took)
	}
	g.count(v, -1)
	g.dispatch(now)
}

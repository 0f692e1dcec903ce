package inference

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// gate bounds the files that are decoded and judged at the same time, and how
// long others wait for that. Frames of a decoded file take memory, so files wait
// here, undecoded. It is safe for concurrent use.
type gate struct {
	opts       DetectorOptions
	mu         sync.Mutex
	lines      [2]line // of the files that wait, by priority
	running    int
	background int                     // of those that run: never more than half, so that people find places
	inside     time.Duration           // predicted cost of all that run
	owed       map[payer]time.Duration // predicted cost of all that wait
	costs      costs
	empty      time.Time // when no interactive file waited last
	seq        uint64
}

// visit is one file's way through the gate.
type visit struct {
	payer
	class class
	cost  time.Duration // of its place, as predicted
	due   time.Time     // the order of service, as in the scheduler
	seq   uint64
	at    int           // in the line; -1 when it is not there
	turn  chan struct{} // closed when it may run
	start time.Time     // when it began to run
}

func newGate(opts DetectorOptions) *gate {
	return &gate{opts: opts, owed: map[payer]time.Duration{}, costs: costs{}, empty: time.Now()}
}

// enter waits for a place. The caller gives it back by calling leave once. A
// *SaturatedError says at once that the wait would be too long.
func (g *gate) enter(ctx context.Context, req Request) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked := time.Now()
	v := &visit{payer: payer{req.Account, req.Priority}, class: classOf(req), turn: make(chan struct{})}
	if err := g.queue(ctx, v); err != nil {
		return nil, err
	}
	select {
	case <-v.turn:
	case <-ctx.Done():
		g.abandon(v)
		return nil, ctx.Err()
	}
	if g.opts.Observer != nil {
		g.opts.Observer.Entered(time.Since(asked))
	}
	return func() { g.leave(v, true) }, nil
}

// queue gives the file its place in the line, unless its wait would be too long.
func (g *gate) queue(ctx context.Context, v *visit) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	v.cost = g.costs.of(v.class)
	v.due = now.Add(pace(g.owed[v.payer], len(g.owed), g.opts.Parallel))
	if v.priority == Background {
		v.due = v.due.Add(g.opts.BackgroundDelay)
	} else if err := g.refuse(ctx, v, now); err != nil {
		return err
	}
	g.seq++
	v.seq = g.seq
	g.owed[v.payer] += v.cost
	heap.Push(&g.lines[v.priority], v)
	g.dispatch(now)
	return nil
}

// refuse says whether an interactive file would wait for longer than it may, or
// beyond its deadline. Background work has no caller who waits: whoever submits
// it bounds it. A file that finds a place is never refused, so that predictions
// that were too high are put right.
func (g *gate) refuse(ctx context.Context, v *visit, now time.Time) error {
	waiting := len(g.lines[Interactive])
	if waiting == 0 {
		g.empty = now
		if g.running < g.opts.Parallel {
			return nil
		}
	}
	wait := g.predict(v)
	late := wait > g.patience(now)
	if deadline, ok := ctx.Deadline(); ok && now.Add(wait+v.cost).After(deadline) {
		late = true
	}
	if late || waiting >= g.opts.Waiting {
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
func (g *gate) predict(v *visit) time.Duration {
	sum := g.inside / 2
	for _, l := range g.lines {
		for _, o := range l {
			if !v.due.Before(o.due) {
				sum += o.cost
			}
		}
	}
	return sum / time.Duration(g.opts.Parallel)
}

// dispatch lets in who is next as long as there are places.
func (g *gate) dispatch(now time.Time) {
	for g.running < g.opts.Parallel {
		v := g.next()
		if v == nil {
			return
		}
		g.unqueue(v)
		g.running++
		g.inside += v.cost
		if v.priority == Background {
			g.background++
		}
		v.start = now
		close(v.turn)
	}
	if len(g.lines[Interactive]) == 0 {
		g.empty = now
	}
}

// next is the first of those that may run; nil when there is none.
func (g *gate) next() (first *visit) {
	for p, l := range g.lines {
		full := Priority(p) == Background && g.background >= max(1, g.opts.Parallel/2)
		if len(l) > 0 && !full && (first == nil || l[0].before(first)) {
			first = l[0]
		}
	}
	return first
}

func (g *gate) unqueue(v *visit) {
	heap.Remove(&g.lines[v.priority], v.at)
	if g.owed[v.payer] -= v.cost; g.owed[v.payer] <= 0 {
		delete(g.owed, v.payer)
	}
}

// abandon takes out a file whose caller has gone, perhaps after its turn came.
func (g *gate) abandon(v *visit) {
	g.mu.Lock()
	if v.at >= 0 {
		g.unqueue(v)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	g.leave(v, false)
}

// leave frees the place of v. What it took is remembered when it ran.
func (g *gate) leave(v *visit, ran bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if ran {
		g.costs.observe(v.class, now.Sub(v.start))
	}
	g.running--
	g.inside -= v.cost
	if v.priority == Background {
		g.background--
	}
	g.dispatch(now)
}

package gather

import (
	"context"
	"errors"
	"runtime"
	"sync"
)

// Gather runs what is asked for while its turns are taken in one run, the next: one
// transaction and one sync to disk for all of it. Whoever comes when a turn is free
// runs at once; nobody waits for others to come. A run of several that fails must
// have done nothing: each of them is run again alone then, so that none fails for
// another, unless the error matches ErrUndecided. It is safe for concurrent use, and starts no goroutine.
type Gather[T any] struct {
	most int // items in a run
	run  func(ctx context.Context, items []T) error

	turn chan struct{} // has one for each run under way
	mu   sync.Mutex
	next *party[T] // who waits and can be joined
}

// party are those who run together. Gather.mu guards it; whoever has seen done
// closed may read it without.
type party[T any] struct {
	seats  []*seat[T]
	left   int                // seats whose caller has not gone
	cancel context.CancelFunc // once the run has begun
	many   bool
	err    error
	done   chan struct{}
}

type seat[T any] struct {
	item T
	gone bool // its caller's context has ended
	runs bool // it is in the run
}

// ErrUndecided says that a run which has failed may have done what it was to do. All who
// are in it are told so.
var ErrUndecided = errors.New("it may have been done all the same")

// errPanicked is what a run of several comes to that has panicked.
var errPanicked = errors.New("a run of several panicked")

// New makes one of as many runs at a time as turns, and at most so many items in
// each.
func New[T any](turns, most int, run func(context.Context, []T) error) *Gather[T] {
	return &Gather[T]{most: most, run: run, turn: make(chan struct{}, turns)}
}

// Do returns what item's run came to. Item is not run when ctx ends before. A run
// that has begun is waited for, since nobody else knows what it will have done; its
// context ends when those of all who are in it have ended.
func (g *Gather[T]) Do(ctx context.Context, item T) error {
	s := &seat[T]{item: item}
	p := g.join(s)
	defer context.AfterFunc(ctx, func() { g.leave(p, s) })()
	select {
	case g.turn <- struct{}{}:
		g.lead(ctx, p)
	case <-p.done:
	case <-ctx.Done():
		g.leave(p, s)
	}
	if !s.runs {
		return ctx.Err()
	}
	<-p.done // another of p's may have had an earlier turn
	switch {
	case p.err == nil:
		return nil
	case p.many && !errors.Is(p.err, ErrUndecided):
		return g.run(ctx, []T{item})
	}
	return errors.Join(p.err, ctx.Err())
}

// Waiting is how many wait for the next run and can be joined.
func (g *Gather[T]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		return 0
	}
	return len(g.next.seats)
}

// join takes a seat among those who wait.
func (g *Gather[T]) join(s *seat[T]) *party[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil || len(g.next.seats) == g.most {
		g.next = &party[T]{done: make(chan struct{})}
	}
	g.next.seats = append(g.next.seats, s)
	g.next.left++
	return g.next
}

// leave notes that nobody waits for s any more. It is idempotent.
func (g *Gather[T]) leave(p *party[T], s *seat[T]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !s.gone {
		s.gone = true
		p.left--
	}
	if p.left == 0 && p.cancel != nil {
		p.cancel()
	}
}

// lead runs p, unless another of them has, and passes the turn on.
func (g *Gather[T]) lead(ctx context.Context, p *party[T]) {
	defer func() { <-g.turn }()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	runtime.Gosched() // who is on a processor's queue to come is let in
	items := g.begin(p, cancel)
	if len(items) == 0 {
		return
	}
	p.err = errPanicked
	defer close(p.done)
	p.err = g.run(ctx, items)
}

// begin closes p to others and returns what is to be run of it: nothing when it
// has begun before or everybody has gone.
func (g *Gather[T]) begin(p *party[T], cancel context.CancelFunc) (items []T) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == p {
		g.next = nil
	}
	if p.cancel != nil {
		return nil
	}
	p.cancel = cancel
	for _, s := range p.seats {
		if !s.gone {
			s.runs = true
			items = append(items, s.item)
		}
	}
	p.many = len(items) > 1
	return items
}

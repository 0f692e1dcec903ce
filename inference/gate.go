package inference

import (
	"context"
	"sync"
	"time"
)

// gate bounds the files that are decoded and judged at the same time, and the
// requests that wait for that. Frames of a decoded file take memory, so files
// wait here, undecoded.
type gate struct {
	opts    DetectorOptions
	slots   chan struct{}
	later   chan struct{} // held by background work, so that it never takes every slot
	mu      sync.Mutex
	waiting int           // interactive requests
	took    time.Duration // of one file, moving average
}

func newGate(opts DetectorOptions) *gate {
	return &gate{opts: opts, slots: make(chan struct{}, opts.Parallel), later: make(chan struct{}, max(1, opts.Parallel/2))}
}

// enter waits for a place. The caller gives it back by calling leave once.
func (g *gate) enter(ctx context.Context, p Priority) (leave func(), err error) {
	asked := time.Now()
	places := []chan struct{}{g.later, g.slots}
	if p == Interactive {
		if err := g.queue(ctx); err != nil {
			return nil, err
		}
		defer g.unqueue()
		places = places[1:]
	}
	for i, place := range places {
		select {
		case place <- struct{}{}:
		case <-ctx.Done():
			free(places[:i])
			return nil, ctx.Err()
		}
	}
	start := time.Now()
	if g.opts.Observer != nil {
		g.opts.Observer.Entered(start.Sub(asked))
	}
	return func() {
		g.observe(time.Since(start))
		free(places)
	}, nil
}

func free(places []chan struct{}) {
	for _, place := range places {
		<-place
	}
}

// queue counts the caller in among those that wait, unless too many do or the
// wait would outlast its deadline. Background work has no caller who waits, so
// whoever submits it bounds it.
func (g *gate) queue(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := time.Duration(g.waiting) * g.took / time.Duration(g.opts.Parallel)
	late := false
	if deadline, ok := ctx.Deadline(); ok {
		late = g.waiting > 0 && time.Until(deadline) < wait
	}
	if g.waiting >= g.opts.Waiting || late {
		return &SaturatedError{RetryAfter: max(wait, time.Second)}
	}
	g.waiting++
	return nil
}

func (g *gate) unqueue() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting--
}

func (g *gate) observe(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.took == 0 {
		g.took = took
	}
	g.took += (took - g.took) / 5
}

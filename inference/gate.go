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
	mu      sync.Mutex
	waiting int
	took    time.Duration // of one file, moving average
}

func newGate(opts DetectorOptions) *gate {
	return &gate{opts: opts, slots: make(chan struct{}, opts.Parallel)}
}

// enter waits for a place. The caller gives it back by calling leave once.
func (g *gate) enter(ctx context.Context, p Priority) (leave func(), err error) {
	if err := g.queue(ctx, p); err != nil {
		return nil, err
	}
	defer g.count(-1)
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	start := time.Now()
	return func() {
		g.observe(time.Since(start))
		<-g.slots
	}, nil
}

// queue counts the caller in among those that wait, unless too many do or the
// wait would outlast its deadline. Background work has no caller who waits, so
// whoever submits it bounds it.
func (g *gate) queue(ctx context.Context, p Priority) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := time.Duration(g.waiting) * g.took / time.Duration(g.opts.Parallel)
	late := false
	if deadline, ok := ctx.Deadline(); ok {
		late = g.waiting > 0 && time.Until(deadline) < wait
	}
	if p == Interactive && (g.waiting >= g.opts.Waiting || late) {
		return &SaturatedError{RetryAfter: max(wait, time.Second)}
	}
	g.waiting++
	return nil
}

func (g *gate) count(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting += n
}

func (g *gate) observe(took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.took == 0 {
		g.took = took
	}
	g.took += (took - g.took) / 5
}

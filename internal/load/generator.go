package load

import (
	"context"
	"sync"
	"time"
)

// generator sends requests. Its loops return when everything that they sent has
// ended, which is at latest a timeout after sending did.
type generator struct {
	source  Source
	timeout time.Duration // of one request
	record  func(event)   // is called concurrently
}

// open sends when requests are due, whether earlier ones have been answered or
// not, until sending ends. This is the open model of k6
// (https://grafana.com/docs/k6/latest/using-k6/scenarios/concepts/open-vs-closed).
// Requests that find all connections busy are sent late, but are still due when
// they were: latency counts from then, as in wrk2 (https://github.com/giltene/wrk2),
// so that no wait is omitted because the target made the generator wait (Tene, How
// NOT to Measure Latency, 2013). What was due and could not be sent at all is
// recorded as unsent.
func (g *generator) open(ctx, sending context.Context, gaps func() time.Duration, connections int) {
	free := make(chan struct{}, connections)
	var calls sync.WaitGroup
	defer calls.Wait()
	due := time.Now().Add(gaps())
	for waitUntil(sending, due) && acquire(sending, free) {
		call, at := g.source(), due
		calls.Go(func() {
			defer func() { <-free }()
			g.send(ctx, call, at)
		})
		due = due.Add(gaps())
	}
	for end := time.Now(); due.Before(end); due = due.Add(gaps()) {
		g.record(event{due: due, fate: unsent})
	}
}

func acquire(ctx context.Context, free chan<- struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case free <- struct{}{}:
		return true
	}
}

// setback is how long a client of a closed loop waits after a request that did not
// succeed: a target that refuses, or is gone, would be called as often as this machine
// can, and would have that to do in place of what it is measured by.
const setback = 10 * time.Millisecond

// closed has clients who each send as soon as their last request has succeeded, or a
// setback after it has not, until sending ends. A slow target is asked less often.
func (g *generator) closed(ctx, sending context.Context, clients int) {
	var picking sync.Mutex
	pick := func() Call {
		picking.Lock()
		defer picking.Unlock()
		return g.source()
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	for range clients {
		calls.Go(func() {
			for sending.Err() == nil {
				if !g.send(ctx, pick(), time.Now()) {
					waitUntil(sending, time.Now().Add(setback))
				}
			}
		})
	}
}

// burst sends so many requests at once.
func (g *generator) burst(ctx context.Context, requests int) {
	var calls sync.WaitGroup
	defer calls.Wait()
	due := time.Now()
	for range requests {
		call := g.source()
		calls.Go(func() { g.send(ctx, call, due) })
	}
}

// send makes a request, records it, and says whether it succeeded. Where ctx ends,
// nobody knows what would have become of it; where its own time runs out, it has failed.
func (g *generator) send(ctx context.Context, call Call, due time.Time) bool {
	bounded, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	e := event{due: due, sent: time.Now()}
	e.Answer = call(bounded)
	e.done = time.Now()
	switch {
	case e.OK:
	case ctx.Err() != nil:
		e.fate = unfinished
	case e.Error != "" && bounded.Err() != nil:
		e.fate = timedOut
	}
	g.record(e)
	return e.OK
}

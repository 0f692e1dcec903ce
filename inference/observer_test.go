package inference

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// observed is what a scheduler and a gate have told.
type observed struct {
	mu      sync.Mutex
	waits   []time.Duration
	batches map[int]time.Duration
	entered []time.Duration
}

func (o *observed) Waited(_ string, wait time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waits = append(o.waits, wait)
}

func (o *observed) Ran(_ string, rows int, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.batches[rows] = took
}

func (o *observed) Entered(wait time.Duration) { o.entered = append(o.entered, wait) }

func TestObserverOfScheduler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &observed{batches: map[int]time.Duration{}}
		opts := DefaultSchedulerOptions()
		opts.Observer = seen
		s := setup(t, opts, newSimulated(8, 0, 10*time.Millisecond))
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(1)) })
		synctest.Wait()
		if n := s.Waiting(); n != 0 {
			t.Errorf("%d rows wait, want none: the only one is being run", n)
		}
		wg.Go(func() { mustRun(t, s, numbers(2, 3)) })
		synctest.Wait()
		if n := s.Waiting(); n != 2 {
			t.Errorf("%d rows wait, want 2", n)
		}
		wg.Wait()
		if len(seen.waits) != 3 || seen.waits[0] != 0 || seen.waits[1] != 10*time.Millisecond || seen.waits[2] != 10*time.Millisecond {
			t.Errorf("waits %v, want 0, 10ms, 10ms", seen.waits)
		}
		if seen.batches[1] != 10*time.Millisecond || seen.batches[2] != 20*time.Millisecond {
			t.Errorf("batches %v, want one of 10ms and one of two rows of 20ms", seen.batches)
		}
	})
}

func TestObserverOfGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &observed{}
		g := newGate(DetectorOptions{Parallel: 1, Waiting: 1, Observer: seen})
		done, err := g.enter(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { done(true) })
		leave, err := g.enter(t.Context(), Request{Priority: Background})
		if err != nil {
			t.Fatal(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := g.enter(ended, Request{}); err == nil {
			t.Fatal("there is no place")
		}
		leave(true)
		if len(seen.entered) != 2 || seen.entered[0] != 0 || seen.entered[1] != time.Second {
			t.Errorf("waits %v, want 0 and 1s: who gives up has not entered", seen.entered)
		}
	})
}

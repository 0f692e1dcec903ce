package inference

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// caller is one drawn file with who sends it. Times are whole milliseconds.
type caller struct {
	after    time.Duration // since the one before
	head     string
	size     int64
	account  string
	priority Priority
	takes    time.Duration
	deadline time.Duration // of people
	leaves   time.Duration // 0: stays
	books    time.Duration // how long they take; 0: they are not asked
	unpaid   bool          // they refuse it
	damaged  bool
}

func drawCaller(t *rapid.T) caller {
	millis := func(low, high int, name string) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Millisecond
	}
	c := caller{
		after: millis(0, 400, "after"), size: 1 << rapid.IntRange(0, 20).Draw(t, "size"),
		head:     rapid.SampledFrom([]string{filmHead, pictureHead, "RIFF\x00\x00\x00\x00WAVEfmt "}).Draw(t, "head"),
		account:  rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "account"),
		priority: rapid.SampledFrom([]Priority{Interactive, Background}).Draw(t, "priority"),
		takes:    rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 100 * time.Millisecond, 600 * time.Millisecond, 3 * time.Second, 20 * time.Second}).Draw(t, "takes"),
		damaged:  rapid.IntRange(0, 3).Draw(t, "damaged") == 0,
	}
	if c.priority == Interactive {
		c.deadline = millis(1000, 30_000, "deadline")
	}
	if rapid.IntRange(0, 3).Draw(t, "leaves") == 0 {
		c.leaves = millis(1, 3000, "leaves after")
	}
	if rapid.IntRange(0, 2).Draw(t, "asks") == 0 {
		c.books, c.unpaid = millis(1, 300, "books"), rapid.IntRange(0, 2).Draw(t, "unpaid") == 0
	}
	return c
}

// send has the file pass, and tells of the places it takes while it has them. It returns after how long the gate said
// what.
func (c caller) send(ctx context.Context, g *gate, has func(places int)) (after time.Duration, said error) {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	if c.deadline > 0 {
		ctx, leave = context.WithTimeout(ctx, c.deadline)
		defer leave()
	}
	if c.leaves > 0 {
		defer time.AfterFunc(c.leaves, leave).Stop()
	}
	req := Request{Account: c.account, Priority: c.priority, File: uploaded(c.head), Size: c.size}
	if c.books > 0 {
		req.Admitted = func() error {
			<-time.After(c.books)
			if c.unpaid {
				return errUnpaid
			}
			return nil
		}
	}
	start := time.Now()
	done, err := g.enter(ctx, req)
	after = time.Since(start)
	if err != nil {
		return after, err
	}
	places := g.takes(classOf(req))
	has(places)
	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
	}
	has(-places)
	done(ctx.Err() == nil && !c.damaged)
	return after, nil
}

var errUnpaid = errors.New("unpaid")

// Whatever comes to the gate: no more places are taken than there are, none waits while nothing runs, each caller is
// told by its deadline, refusals say when to come back, and in the end the gate is as it was in the beginning.
func TestAnyFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parallel := rapid.SampledFrom([]int{1, 2, 4, 8, 16}).Draw(rt, "parallel")
		film, side, waiting := rapid.IntRange(1, 4).Draw(rt, "film"), rapid.IntRange(1, 4).Draw(rt, "side"), rapid.IntRange(1, 20).Draw(rt, "waiting")
		callers := rapid.SliceOfN(rapid.Custom(drawCaller), 1, 60).Draw(rt, "callers")
		seen := &watch{}
		synctest.Test(t, func(t *testing.T) {
			g := newTestGate(parallel, func(o *DetectorOptions) { o.Film, o.Side, o.Waiting = film, side, waiting })
			var mu sync.Mutex
			var taken int
			has := func(places int) {
				mu.Lock()
				defer mu.Unlock()
				if taken += places; taken > parallel {
					seen.fail("%d places of %d are taken", taken, parallel)
				}
			}
			var all sync.WaitGroup
			for _, c := range callers {
				<-time.After(c.after)
				all.Go(func() {
					after, said := c.send(t.Context(), g, has)
					c.look(seen, after, said)
				})
				synctest.Wait()
				g.mu.Lock()
				if g.running == 0 && len(g.turns.flows) > 0 {
					seen.fail("files wait while nothing runs")
				}
				g.mu.Unlock()
			}
			all.Wait()
			left := g.lines[long].crowd.files + g.lines[quick].crowd.files + len(g.turns.flows) + len(g.turns.ended)
			for _, n := range g.trying {
				left += n
			}
			if !g.idle() || g.running != 0 || left != 0 {
				seen.fail("in the end %+v %+v", g.lines, g.turns)
			}
		})
		if len(seen.failures) > 0 {
			rt.Fatal(seen.failures)
		}
	})
}

// look says what the gate should not have said, or not then.
func (c caller) look(seen *watch, after time.Duration, said error) {
	if latest := c.books + c.deadline; c.deadline > 0 && after > latest {
		seen.fail("%+v: told after %v", c, after)
	}
	saturated, refused := errors.AsType[*SaturatedError](said)
	allowed := said == nil || refused || c.unpaid && errors.Is(said, errUnpaid) || c.leaves > 0 && errors.Is(said, context.Canceled) ||
		c.deadline > 0 && errors.Is(said, context.DeadlineExceeded)
	if !allowed || refused && (c.priority == Background || saturated.RetryAfter < time.Second || saturated.RetryAfter > 10*time.Minute) {
		seen.fail("%+v: %v", c, said)
	}
}

package inference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"deepfaked/models"
)

// call is one drawn call of Run.
type call struct {
	after    time.Duration // since the one before
	model    string
	rows     int
	account  string
	priority Priority
	deadline time.Duration // 0: none
	leaves   time.Duration // 0: stays
	poison   int           // row that fails; -1: none
	extent   int
}

// schedule is a drawn service and what comes to it. Times are whole milliseconds.
type schedule struct {
	executors int
	sizes     []int
	queueRows int
	models    map[string][2]time.Duration // what a batch costs, and each of its rows
	calls     []call
}

func draw(t *rapid.T, accounts []string, troubled bool) schedule {
	millis := func(low, high int, name string) time.Duration {
		return time.Duration(rapid.IntRange(low, high).Draw(t, name)) * time.Millisecond
	}
	s := schedule{
		executors: rapid.IntRange(1, 4).Draw(t, "executors"),
		sizes:     rapid.SampledFrom([][]int{{1}, {1, 2, 4}, {1, 2, 3, 4, 6, 8}, {4, 8}}).Draw(t, "sizes"),
		queueRows: rapid.IntRange(1, 60).Draw(t, "queue rows"),
		models:    map[string][2]time.Duration{},
	}
	for _, m := range []string{"a", "b"} {
		s.models[m] = [2]time.Duration{millis(0, 8, "fixed"), millis(1, 8, "each")}
	}
	for range rapid.IntRange(1, 40).Draw(t, "calls") {
		c := call{
			after: millis(0, 12, "after"), model: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "model"),
			rows: rapid.IntRange(1, 12).Draw(t, "rows"), account: rapid.SampledFrom(accounts).Draw(t, "account"), poison: -1,
		}
		if rapid.Bool().Draw(t, "in a hurry") {
			c.deadline = millis(1, 300, "deadline")
		}
		if troubled {
			c.extent = rapid.IntRange(0, 2).Draw(t, "extent")
			c.priority = rapid.SampledFrom([]Priority{Interactive, Background}).Draw(t, "priority")
			if rapid.IntRange(0, 4).Draw(t, "leaves") == 0 {
				c.leaves = millis(1, 60, "leaves after")
			}
			if rapid.IntRange(0, 4).Draw(t, "spoilt") == 0 {
				c.poison = rapid.IntRange(0, c.rows-1).Draw(t, "poison")
			}
		}
		s.calls = append(s.calls, c)
	}
	return s
}

func (s schedule) spoilt() bool {
	return slices.ContainsFunc(s.calls, func(c call) bool { return c.poison >= 0 })
}

// priced is a runner of which a batch costs what the schedule says, as padded. It
// gives back what Fill wrote, and fails on what is negative.
type priced struct {
	schedule
	model string
	rows  []models.Row
	seen  *watch
}

// watch notes what runners do.
type watch struct {
	mu       sync.Mutex
	batches  []int // rows of each
	failures []string
}

func (w *watch) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (p *priced) Sizes() []int         { return p.sizes }
func (p *priced) Row(i int) models.Row { return p.rows[i] }

func (s schedule) price(model string, n int) time.Duration {
	i, _ := slices.BinarySearch(s.sizes, n)
	return s.models[model][0] + time.Duration(s.sizes[i])*s.models[model][1]
}

func (p *priced) Run(n int) ([]float32, error) {
	p.seen.mu.Lock()
	p.seen.batches = append(p.seen.batches, n)
	p.seen.mu.Unlock()
	<-time.After(p.price(p.model, n))
	out := make([]float32, n)
	for i := range out {
		if out[i] = p.rows[i].F32[0]; out[i] < 0 {
			return nil, errors.New("poisoned")
		}
	}
	return out, nil
}

// rows is how many were run, those again that were beside a spoilt one.
func (w *watch) rows() (n int) {
	for _, rows := range w.batches {
		n += rows
	}
	return n
}

// count wants each row run once: all of those who were answered, and none of those who
// were refused.
func (w *watch) count(outcomes []outcome) {
	answered, accepted := 0, 0
	for _, o := range outcomes {
		if o.err == nil {
			answered += o.rows
		}
		if _, refused := errors.AsType[*SaturatedError](o.err); !refused {
			accepted += o.rows
		}
	}
	if n := w.rows(); n < answered || n > accepted {
		w.fail("%d rows were run, %d of them answered, and %d accepted", n, answered, accepted)
	}
}

// outcome is what came of a call.
type outcome struct {
	call
	at, took time.Duration
	outputs  []float32
	err      error
}

// play has the schedule happen and looks at the scheduler after each arrival.
func (s schedule) play(t *testing.T, seen *watch) (out []outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		scheduler := s.start(t, seen)
		start, results := time.Now(), make(chan outcome, len(s.calls))
		for _, c := range s.calls {
			<-time.After(c.after)
			go func() { results <- c.run(t.Context(), scheduler, time.Since(start)) }()
			synctest.Wait()
			scheduler.mu.Lock()
			if scheduler.rows > 0 && scheduler.idle > 0 {
				seen.fail("%d rows wait beside %d idle executors", scheduler.rows, scheduler.idle)
			}
			for _, q := range scheduler.order {
				if q.rows > max(s.queueRows, 12) {
					seen.fail("%d rows wait, where %d may", q.rows, s.queueRows)
				}
			}
			scheduler.mu.Unlock()
		}
		for range s.calls {
			out = append(out, <-results)
		}
		scheduler.mu.Lock()
		defer scheduler.mu.Unlock()
		if len(scheduler.turns.flows) > 0 || scheduler.rows > 0 {
			seen.fail("%d rows of %d payers are left", scheduler.rows, len(scheduler.turns.flows))
		}
	})
	return out
}

func (s schedule) start(t *testing.T, seen *watch) *Scheduler {
	t.Helper()
	var executors []Executor
	for range s.executors {
		e := Executor{}
		for m := range s.models {
			p := &priced{schedule: s, model: m, seen: seen}
			for range s.sizes[len(s.sizes)-1] {
				p.rows = append(p.rows, models.Row{F32: make([]float32, 1)})
			}
			e[m] = p
		}
		executors = append(executors, e)
	}
	opts := DefaultSchedulerOptions()
	opts.QueueRows, opts.BackgroundDelay = s.queueRows, 50*time.Millisecond
	scheduler, err := NewScheduler(opts, executors)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(scheduler.Close)
	for m := range s.models {
		for _, n := range s.sizes {
			scheduler.Seed(m, n, s.price(m, n))
		}
	}
	synctest.Wait()
	return scheduler
}

func (c call) run(ctx context.Context, s *Scheduler, at time.Duration) outcome {
	if c.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	if c.leaves > 0 {
		var leave context.CancelFunc
		ctx, leave = context.WithCancel(ctx)
		defer time.AfterFunc(c.leaves, leave).Stop()
	}
	w := Work{Model: c.model, Rows: c.rows, Account: c.account, Priority: c.priority, Extent: c.extent, Fill: func(i int, dst models.Row) {
		if dst.F32[0] = float32(i); i == c.poison {
			dst.F32[0] = -1
		}
	}}
	start := time.Now()
	outputs, err := s.Run(ctx, w)
	return outcome{c, at, time.Since(start), outputs, err}
}

// Whatever comes: no executor stands idle beside waiting rows, queues are bounded,
// every call comes to its end, with its own rows or an error of its own, and what
// is refused is refused at once with a wait, and no row is run twice, unless to find one
// that is spoilt.
func TestAnySchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, seen := draw(rt, []string{"x", "y", "z"}, true), &watch{}
		outcomes := s.play(t, seen)
		if !s.spoilt() {
			seen.count(outcomes)
		}
		for _, o := range outcomes {
			var saturated *SaturatedError
			switch {
			case errors.As(o.err, &saturated):
				if o.took > 0 || saturated.RetryAfter < time.Second {
					seen.fail("%+v: refused after %v with a wait of %v", o.call, o.took, saturated.RetryAfter)
				}
			case errors.Is(o.err, context.Canceled) && o.leaves > 0, errors.Is(o.err, context.DeadlineExceeded) && o.deadline > 0:
				// Only a batch that is running holds it up, and none in which a
				// spoilt row has to be found.
				longest := s.price(o.model, s.sizes[len(s.sizes)-1])
				if o.took > max(o.leaves, o.deadline)+longest && !s.spoilt() {
					seen.fail("%+v: came back after %v", o.call, o.took)
				}
			case o.poison >= 0:
				if o.err == nil {
					seen.fail("%+v: succeeded", o.call)
				}
			case o.err != nil:
				seen.fail("%+v: %v", o.call, o.err)
			default:
				for i, v := range o.outputs {
					if len(o.outputs) != o.rows || v != float32(i) {
						seen.fail("%+v: got %v", o.call, o.outputs)
					}
				}
			}
		}
		if len(seen.failures) > 0 {
			rt.Fatal(seen.failures)
		}
	})
}

// Where nobody can be overtaken, a deadline that is accepted is kept: who comes
// late is told so at once.
func TestDeadlinesAreMetOrRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s, seen := draw(rt, []string{"x"}, false), &watch{}
		for i := range s.calls { // an idle service tries even what is hopeless
			if s.calls[i].deadline > 0 {
				s.calls[i].deadline += time.Duration(s.calls[i].rows) * s.price(s.calls[i].model, 1)
			}
		}
		outcomes := s.play(t, seen)
		seen.count(outcomes)
		for _, o := range outcomes {
			var saturated *SaturatedError
			if o.err != nil && !errors.As(o.err, &saturated) {
				seen.fail("%+v at %v: %v", o.call, o.at, o.err)
			}
		}
		if len(seen.failures) > 0 {
			rt.Fatal(seen.failures)
		}
	})
}

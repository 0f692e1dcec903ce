package inference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"deepfaked/models"
)

// simulated stands in for a session: a batch takes fixed + n*each of the
// bubble's time, and a row's logit is the number that Fill wrote.
type simulated struct {
	fixed, each time.Duration
	rows        []models.Row
	poison      float32 // a batch that holds this number fails
	mu          sync.Mutex
	batches     []int
	order       []float32
}

func newSimulated(most int, fixed, each time.Duration) *simulated {
	s := &simulated{fixed: fixed, each: each, poison: -1}
	for range most {
		s.rows = append(s.rows, models.Row{F32: make([]float32, 1)})
	}
	return s
}

func (s *simulated) Sizes() []int         { return upTo(len(s.rows)) }
func (s *simulated) Row(i int) models.Row { return s.rows[i] }

// upTo are all sizes from 1 to n.
func upTo(n int) (sizes []int) {
	for i := range n {
		sizes = append(sizes, i+1)
	}
	return sizes
}

func (s *simulated) Run(n int) ([]float32, error) {
	<-time.After(s.fixed + time.Duration(n)*s.each)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, n)
	out := make([]float32, n)
	for i := range out {
		if out[i] = s.rows[i].F32[0]; out[i] == s.poison {
			return nil, errors.New("poisoned")
		}
	}
	s.order = append(s.order, out...)
	return out, nil
}

func setup(t *testing.T, opts SchedulerOptions, runners ...*simulated) *Scheduler {
	t.Helper()
	var executors []Executor
	for _, r := range runners {
		executors = append(executors, Executor{"m": r})
	}
	s, err := NewScheduler(opts, executors)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	synctest.Wait() // all executors are idle
	return s
}

// seed tells s what batches of r take.
func seed(s *Scheduler, r *simulated) {
	for _, n := range r.Sizes() {
		s.Seed("m", n, r.fixed+time.Duration(n)*r.each)
	}
}

// numbers is work whose logits are the given values.
func numbers(values ...float32) Work {
	return Work{Model: "m", Rows: len(values), Fill: func(i int, dst models.Row) { dst.F32[0] = values[i] }}
}

func TestIdleExecutorRunsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, DefaultSchedulerOptions(), newSimulated(8, time.Millisecond, time.Millisecond))
		start := time.Now()
		got, err := s.Run(t.Context(), numbers(7))
		if err != nil || got[0] != 7 {
			t.Fatalf("got %v, %v", got, err)
		}
		if took := time.Since(start); took != 2*time.Millisecond {
			t.Errorf("took %v, want the run alone: 2ms", took)
		}
	})
}

func TestRowsGatherWhileBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, 10*time.Millisecond, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(1)) })
		synctest.Wait()
		for i := range 10 {
			wg.Go(func() { mustRun(t, s, numbers(float32(i))) })
		}
		wg.Wait()
		if got := fmt.Sprint(r.batches); got != "[1 8 2]" {
			t.Errorf("batches %v, want [1 8 2]", got)
		}
	})
}

// A picture's faces must not depend on whose picture is beside it: the finder leaves
// out what no row of its batch fills, and the edge of that part moves its answers.
func TestExtentsDoNotMix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		var all sync.WaitGroup
		for i, extent := range []int{9, 1, 1, 2, 2, 2, 1} { // the first keeps the executor busy
			w := numbers(float32(i), float32(i))
			w.Extent = extent
			all.Go(func() {
				if got, err := s.Run(t.Context(), w); err != nil || got[1] != float32(i) {
					t.Errorf("%v, %v", got, err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if got := fmt.Sprint(r.batches); got != "[2 4 6 2]" {
			t.Errorf("batches of %s rows, want [2 4 6 2]", got)
		}
	})
}

func TestIdleExecutorsShareTheRowsOfOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newSimulated(8, 0, time.Millisecond), newSimulated(8, 0, time.Millisecond)
		s := setup(t, DefaultSchedulerOptions(), a, b)
		start := time.Now()
		mustRun(t, s, numbers(1, 2, 3, 4, 5, 6))
		if took := time.Since(start); took != 3*time.Millisecond {
			t.Errorf("took %v, want 3ms: half of the rows each", took)
		}
	})
}

func TestInteractiveGoesFirstAndBackgroundAges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(1, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		var wg sync.WaitGroup
		submit := func(v float32, p Priority) {
			w := numbers(v)
			w.Priority = p
			wg.Go(func() { mustRun(t, s, w) })
			synctest.Wait()
		}
		submit(0, Interactive) // occupies the executor
		submit(100, Background)
		for i := range 30 { // one interactive row a second would starve it for ever
			submit(float32(i+1), Interactive)
			<-time.After(time.Second)
		}
		wg.Wait()
		at := 0
		for i, v := range r.order {
			if v == 100 {
				at = i
			}
		}
		if at < 5 || at > 12 {
			t.Errorf("the background row ran as number %d of %v, want about 10: overtaken for BackgroundDelay and no longer", at, r.order)
		}
	})
}

func TestFairBetweenAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(1, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		s.Seed("m", 1, time.Second)
		var wg sync.WaitGroup
		greedy := numbers(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
		greedy.Account = "greedy"
		wg.Go(func() { mustRun(t, s, greedy) })
		synctest.Wait()
		modest := numbers(2)
		modest.Account = "modest"
		start := time.Now()
		mustRun(t, s, modest)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("one row waited %v behind another account's ten", took)
		}
		wg.Wait()
	})
}

func TestPoisonedRowFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, time.Millisecond, 0)
		r.poison = 13
		s := setup(t, DefaultSchedulerOptions(), r)
		failed, passed := make(chan error, 8), make(chan float32, 8)
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(0)) })
		synctest.Wait()
		for _, v := range []float32{1, 2, 13, 4, float32(math.NaN()), 6} {
			wg.Go(func() {
				if got, err := s.Run(t.Context(), numbers(v)); err != nil {
					failed <- err
				} else {
					passed <- got[0]
				}
			})
		}
		wg.Wait()
		if len(failed) != 2 || len(passed) != 4 {
			t.Errorf("%d failed and %d passed, want 2 (the poisoned one and the one that is no number) and 4", len(failed), len(passed))
		}
	})
}

func TestRowThatPanicsFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, DefaultSchedulerOptions(), newSimulated(8, time.Millisecond, 0))
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(0)) })
		synctest.Wait()
		wg.Go(func() { mustRun(t, s, numbers(1)) })
		wg.Go(func() {
			w := numbers(2)
			w.Fill = func(int, models.Row) { panic("no such window") }
			if _, err := s.Run(t.Context(), w); err == nil || !strings.Contains(err.Error(), "no such window") {
				t.Errorf("got %v, want the panic as an error", err)
			}
		})
		wg.Wait()
		mustRun(t, s, numbers(3))
	})
}

func TestCallerWhoLeavesCostsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(1, time.Second, 0)
		s := setup(t, DefaultSchedulerOptions(), r)
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(0)) })
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if _, err := s.Run(ctx, numbers(1, 2, 3)); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		wg.Wait()
		if len(r.batches) != 1 {
			t.Errorf("%d batches ran, want 1: the rows of the caller who left must not run", len(r.batches))
		}
	})
}

// Who is refused is told when the work would have been done: the rows that run and wait,
// and its own, of a second each. A service that told everybody to be back in a second
// passed this test for long.
func TestRefusedAtAdmission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := DefaultSchedulerOptions()
		opts.QueueRows = 10
		s := setup(t, opts, newSimulated(1, time.Second, 0))
		s.Seed("m", 1, time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { mustRun(t, s, numbers(1, 2, 3, 4, 5, 6)) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		var saturated *SaturatedError
		if _, err := s.Run(ctx, numbers(9)); !errors.As(err, &saturated) || saturated.RetryAfter != (6+1)*time.Second {
			t.Errorf("a deadline that cannot be met: got %v, want SaturatedError with a wait of 7s", err)
		}
		if _, err := s.Run(t.Context(), numbers(make([]float32, 8)...)); !errors.As(err, &saturated) || saturated.RetryAfter != (6+8)*time.Second {
			t.Errorf("a full queue: got %v, want SaturatedError with a wait of 14s", err)
		}
		wg.Wait()
	})
}

// One row that fails fails its request: who runs the others keeps others waiting for
// nothing.
func TestRowsAfterOneThatFailedAreNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(2, time.Second, 0)
		r.poison = 13
		s := setup(t, DefaultSchedulerOptions(), r)
		_, err := s.Run(t.Context(), numbers(1, 2, 13, 4, 5, 6, 7))
		if err == nil || !strings.Contains(err.Error(), "poisoned") {
			t.Errorf("got %v, want the failure of the third row", err)
		}
		if got := fmt.Sprint(r.batches); got != "[2 2 1 1]" { // the second is halved
			t.Errorf("batches %v, want [2 2 1 1]: nothing after the failure", got)
		}
	})
}

func TestCloseDropsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := setup(t, DefaultSchedulerOptions(), newSimulated(1, time.Second, 0))
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := s.Run(t.Context(), numbers(1, 2, 3)); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		})
		synctest.Wait()
		s.Close()
		wg.Wait()
		if _, err := s.Run(t.Context(), numbers(1)); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
	})
}

func mustRun(t *testing.T, s *Scheduler, w Work) {
	t.Helper()
	if _, err := s.Run(t.Context(), w); err != nil {
		t.Error(err)
	}
}

// threadRunner notes the threads that it is run on, on which its session might
// have set something up.
type threadRunner struct {
	meanRunner

	threads chan int
}

func (r threadRunner) Run(n int) ([]float32, error) {
	r.threads <- syscall.Gettid()
	return r.meanRunner.Run(n)
}

// TestExecutorsKeepTheirThreads: goroutines wander between threads unless they
// are locked to one, most of all while others keep the processors busy.
func TestExecutorsKeepTheirThreads(t *testing.T) {
	t.Parallel()
	const batches = 200
	r := threadRunner{meanRunner{{F32: make([]float32, 1)}}, make(chan int, batches)}
	opts := DefaultSchedulerOptions()
	opts.LockThreads = true
	s, err := NewScheduler(opts, []Executor{{"m": r}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range batches {
		if _, err := s.Run(t.Context(), Work{Model: "m", Rows: 1, Fill: func(int, models.Row) {}}); err != nil {
			t.Fatal(err)
		}
	}
	close(r.threads)
	seen := map[int]bool{}
	for id := range r.threads {
		seen[id] = true
	}
	if len(seen) != 1 {
		t.Errorf("one executor ran on %d threads", len(seen))
	}
}

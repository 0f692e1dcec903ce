package gather

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errPoisoned = errors.New("poisoned")

// bus is what a Gather runs in tests: a run waits for its turn, and a negative
// item poisons it.
type bus struct {
	gate chan struct{} // a run goes on for each that is sent, or once it is closed
	mu   sync.Mutex
	runs [][]int
	done []int
}

func (b *bus) run(ctx context.Context, items []int) error {
	b.mu.Lock()
	b.runs = append(b.runs, slices.Clone(items))
	b.mu.Unlock()
	select {
	case <-b.gate:
	case <-ctx.Done():
		return ctx.Err()
	}
	if slices.Min(items) < 0 {
		return errPoisoned
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, items...)
	return nil
}

// calls runs Do for the items, in this order, and returns what each came to.
func calls(ctx context.Context, g *Gather[int], items ...int) []chan error {
	var all []chan error
	for _, item := range items {
		came := make(chan error, 1)
		go func() { came <- g.Do(ctx, item) }()
		synctest.Wait()
		all = append(all, came)
	}
	return all
}

func TestWhoComesMeanwhileGoesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		came := calls(t.Context(), New(1, 3, b.run), 1, 2, 3, 4, 5, 6)
		assert.Equal(t, [][]int{{1}}, b.runs, "the first does not wait for others")
		close(b.gate)
		for _, c := range came {
			require.NoError(t, <-c)
		}
		assert.Equal(t, [][]int{{1}, {2, 3, 4}, {5, 6}}, b.runs)
	})
}

func TestAPoisonedOneFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		came := calls(t.Context(), New(1, 9, b.run), 1, 2, -3, 4)
		for range 5 { // the first, the three together, each of them alone
			b.gate <- struct{}{}
			synctest.Wait()
		}
		require.NoError(t, <-came[1])
		require.ErrorIs(t, <-came[2], errPoisoned)
		require.NoError(t, <-came[3])
		assert.Equal(t, []int{2, -3, 4}, b.runs[1])
		slices.Sort(b.done)
		assert.Equal(t, []int{1, 2, 4}, b.done, "each once")
	})
}

// Whoever may have been run is not run again: a job would be refused for its own sake.
func TestAnUndecidedRunIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		came := calls(t.Context(), New(1, 9, func(ctx context.Context, items []int) error {
			return errors.Join(b.run(ctx, items), ErrUndecided)
		}), 1, 2, 3)
		close(b.gate)
		for _, c := range came {
			require.ErrorIs(t, <-c, ErrUndecided)
		}
		assert.Equal(t, [][]int{{1}, {2, 3}}, b.runs)
	})
}

func TestWhoHasGoneIsNotRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		g := New(1, 9, b.run)
		first := calls(t.Context(), g, 1)
		ctx, cancel := context.WithCancel(t.Context())
		gone, stays := calls(ctx, g, 2), calls(t.Context(), g, 3)
		cancel()
		require.ErrorIs(t, <-gone[0], context.Canceled, "at once")
		close(b.gate)
		require.NoError(t, <-first[0])
		require.NoError(t, <-stays[0])
		assert.Equal(t, [][]int{{1}, {3}}, b.runs)
	})
}

// A run that has begun may have done what it was to do: whoever is in it learns
// that, and it is broken off only when nobody cares any more.
func TestARunEndsWhenAllHaveGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &bus{gate: make(chan struct{})}
		g := New(1, 9, b.run)
		first := calls(t.Context(), g, 1)
		one, end := context.WithCancel(t.Context())
		other, endToo := context.WithTimeout(t.Context(), time.Minute)
		defer endToo()
		came := append(calls(one, g, 2), calls(other, g, 3)...)
		b.gate <- struct{}{}
		require.NoError(t, <-first[0])
		end()
		synctest.Wait()
		assert.Empty(t, came[0], "the other still waits for the run")
		require.ErrorIs(t, <-came[1], context.DeadlineExceeded)
		require.ErrorIs(t, <-came[0], context.Canceled)
		assert.Equal(t, []int{1}, b.done)
	})
}

func TestAPanicHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := New(1, 9, func(_ context.Context, items []int) error {
			<-gate
			if len(items) > 1 {
				panic("a mistake")
			}
			return nil
		})
		came := make(chan any, 4)
		for range 3 {
			go func() {
				defer func() { came <- recover() }()
				assert.NoError(t, g.Do(t.Context(), 1))
			}()
			synctest.Wait()
		}
		close(gate)
		panicked := 0
		for range 3 {
			if <-came != nil {
				panicked++
			}
		}
		assert.Equal(t, 1, panicked, "who ran it")
		require.NoError(t, g.Do(t.Context(), 1), "the turn was passed on")
	})
}

// Whatever comes and goes and fails: what is told to have been done was done once,
// and the rest was not.
func TestEachIsRunOnceOrFails(t *testing.T) {
	t.Parallel()
	for _, turns := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) { testEachIsRunOnceOrFails(t, turns) })
	}
}

func testEachIsRunOnceOrFails(t *testing.T, turns int) {
	t.Helper()
	const callers, most = 500, 7
	var mu sync.Mutex
	done, runs := map[int]int{}, 0
	g := New(turns, most, func(ctx context.Context, items []int) error {
		assert.LessOrEqual(t, len(items), most)
		select {
		case <-time.After(rand.N(5 * time.Millisecond)):
		case <-ctx.Done():
			return ctx.Err()
		}
		if slices.ContainsFunc(items, poisoned) {
			return errPoisoned
		}
		mu.Lock()
		defer mu.Unlock()
		runs++
		for _, i := range items {
			done[i]++
		}
		return nil
	})
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			<-time.After(rand.N(500 * time.Millisecond))
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond+rand.N(time.Second))
			defer cancel()
			err := g.Do(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				assert.Zero(t, done[i], "%d: %v", i, err)
				assert.True(t, poisoned(i) || ctx.Err() != nil, "%d fails for another: %v", i, err)
				return
			}
			assert.Equal(t, 1, done[i])
		})
	}
	group.Wait()
	assert.Less(t, runs, len(done), "some went together")
}

func poisoned(i int) bool { return i%31 == 0 }

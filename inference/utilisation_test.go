package inference

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// On two cores at half load, three small pictures that came while both executors were busy went
// into one batch: all three ended with the last of them, and who came next waited for all. At the
// 99th percentile pictures of 224×224 took 74 ms in place of 57, and 54 to 62 in servers that have
// no batches. At full load those few percent that a batch saves are worth more than that.
func TestBatchesStaySmallWhereTheyGainLittle(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		name        string
		fixed, each time.Duration
		busy        utilisation
		want        string
	}{
		{"a row costs about the same alone, at half load", ms, 20 * ms, .5, "[1 1 1 1]"},
		{"the same at full load", ms, 20 * ms, 1, "[1 2 1]"},
		{"a batch costs little more than a row", 20 * ms, ms, .5, "[1 3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newSimulated(8, c.fixed, c.each)
				s := setup(t, DefaultSchedulerOptions(), r)
				seed(s, r)
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() { mustRun(t, s, numbers(float32(i))) })
					synctest.Wait()
				}
				s.mu.Lock()
				s.busy = c.busy
				s.mu.Unlock()
				wg.Wait()
				if got := fmt.Sprint(r.batches); got != c.want {
					t.Errorf("batches %v, want %v", got, c.want)
				}
			})
		})
	}
}

// Nobody gains from small batches of a request that waits alone.
func TestRequestAloneTakesTheCheapestBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, time.Millisecond, 20*time.Millisecond)
		s := setup(t, DefaultSchedulerOptions(), r)
		seed(s, r)
		mustRun(t, s, numbers(1, 2, 3, 4))
		if got := fmt.Sprint(r.batches); got != "[2 2]" {
			t.Errorf("batches %v, want [2 2]", got)
		}
	})
}

func TestUtilisation(t *testing.T) {
	t.Parallel()
	var u utilisation
	for range 400 { // twenty seconds of two executors, one of which does three times as much
		u.observe(15*time.Millisecond, 35*time.Millisecond, 2)
		u.observe(45*time.Millisecond, 5*time.Millisecond, 2)
	}
	if math.Abs(float64(u)-.6) > .02 {
		t.Errorf("%.2f of the time, want .6", u)
	}
	if got := u.burden(); math.Abs(got-6.25) > .7 {
		t.Errorf("a row stands for %.2f, want 6.25", got)
	}
	u.observe(0, 0, 2)
	for range 400 {
		u.observe(50*time.Millisecond, 0, 2)
	}
	if got := u.burden(); math.Abs(got-400) > .1 {
		t.Errorf("when all are busy a row stands for %.2f, want 400", got)
	}
	u.observe(time.Millisecond, time.Minute, 2)
	if u > .01 {
		t.Errorf("%.2f of the time after an idle minute", u)
	}
}

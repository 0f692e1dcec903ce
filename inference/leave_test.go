package inference

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Of the last rows that wait an executor leaves some to one that will be done soon, since
// they are done sooner then; it took them all, and at half the load one file in ten waited
// for a batch of two where two executors had a row each to run. Rows that the other one
// would only be done with later it takes itself.
func TestRowsAreLeftToWhoIsSoonDone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ second, want time.Duration }{
		{3 * time.Millisecond, 21 * time.Millisecond}, // from 9 on the first runs a row, from 12 on the second
		{8 * time.Millisecond, 26 * time.Millisecond}, // the second is done at 17: too late to help, as 17 + 9 is no less than 9 + 17
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newSimulated(2, time.Millisecond, 8*time.Millisecond), newSimulated(2, time.Millisecond, 8*time.Millisecond)
			s := setup(t, DefaultSchedulerOptions(), a, b)
			seed(s, a)
			var wg sync.WaitGroup
			start := time.Now()
			wg.Go(func() { mustRun(t, s, numbers(1)) })
			<-time.After(c.second)
			wg.Go(func() { mustRun(t, s, numbers(2)) })
			<-time.After(time.Until(start.Add(8500 * time.Microsecond)))
			wg.Go(func() { mustRun(t, s, numbers(3)) })
			wg.Go(func() { mustRun(t, s, numbers(4)) })
			wg.Wait()
			if took := time.Since(start); took != c.want {
				t.Errorf("all done after %v, want %v", took, c.want)
			}
		})
	}
}

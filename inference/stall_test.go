package inference

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A service that was stopped for an hour while it ran a large batch (docker pause) took
// its large batches for ones of many minutes when it went on, and refused whoever came
// while a row ran. Only a batch of that size could have told otherwise, and as nobody was
// let in, none came about.
func TestStoppedServiceDoesNotRefuseForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newSimulated(8, 10*time.Millisecond, time.Millisecond)
		s := setup(t, DefaultSchedulerOptions(), r)
		seed(s, r)
		s.Seed("m", 8, time.Hour)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if _, err := s.Run(ctx, numbers(1, 2)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

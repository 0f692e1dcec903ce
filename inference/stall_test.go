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

// A service that was stopped for a minute took that for the time of the files that it had begun, and
// whoever came when it went on was told to come back in minutes.
func TestStoppedServiceDoesNotSendFilesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, takes, stopped = 4, 50 * time.Millisecond, time.Minute
		v := &visits{gate: newTestGate(parallel, nil)}
		picture := Request{Size: 1000}
		v.costs.observe(classOf(picture), cost{takes, 1})
		send := func(files int, takes time.Duration) {
			for range files {
				v.pass(t.Context(), picture, takes, func(_ time.Duration, err error) {
					if err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			v.Wait()
		}
		send(parallel, takes+stopped)
		if now := v.costs.of(classOf(picture)); now > leap*takes {
			t.Errorf("files are thought to take %v", now)
		}
		send(2*parallel, takes)
	})
}

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

// After a stop of an hour while pictures were judged they were taken for ones of 12 minutes, or of an hour where none
// had been let in lately, and those that found no place were refused.
func TestStoppedServiceDoesNotTakeFilesForHours(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"after others": 0, "after a pause": again} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const takes, deadline = 50 * time.Millisecond, 2 * time.Minute
				v := &visits{gate: newTestGate(8, nil)}
				picture := Request{File: uploaded(pictureHead)}
				v.pass(t.Context(), picture, takes, func(time.Duration, error) {})
				v.Wait()
				<-time.After(pause)
				for range 8 {
					v.pass(t.Context(), picture, time.Hour, func(time.Duration, error) {})
				}
				v.Wait()
				for range 24 {
					soon, end := context.WithTimeout(t.Context(), deadline)
					v.pass(soon, picture, takes, func(_ time.Duration, err error) {
						end()
						if err != nil {
							t.Errorf("a picture: %v", err)
						}
					})
					synctest.Wait()
				}
				v.Wait()
			})
		})
	}
}

package inference

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// shared is a machine that does so much work at a time, in equal parts for all there is.
type shared struct {
	side   int
	mu     sync.Mutex
	inside int
}

// do does work that takes so long where nothing else is, unless ctx ends before.
func (s *shared) do(ctx context.Context, takes time.Duration) error {
	s.add(1)
	defer s.add(-1)
	const slice = 5 * time.Millisecond
	for left := takes; left > 0; {
		select {
		case <-time.After(slice):
		case <-ctx.Done():
			return ctx.Err()
		}
		s.mu.Lock()
		left -= slice * time.Duration(min(s.inside, s.side)) / time.Duration(s.inside)
		s.mu.Unlock()
	}
	return nil
}

func (s *shared) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside += n
}

// As many films as found places were begun side by side, whatever their deadline: 32
// clients with one of a second had 1 to 5 films a second of a machine that could judge 13,
// and status 500 for the rest.
func TestGateLetsInWhatCanBeDoneSideBySide(t *testing.T) {
	t.Parallel()
	const deadline, learning, length = time.Second, 5 * time.Second, 30 * time.Second
	for _, c := range []struct {
		takes   time.Duration
		side    int // as the gate is told
		clients int
	}{
		{600 * time.Millisecond, 8, 4},
		{600 * time.Millisecond, 8, 8},
		{600 * time.Millisecond, 8, 32},
		{600 * time.Millisecond, 4, 32},
		{300 * time.Millisecond, 4, 64},
		{100 * time.Millisecond, 8, 200},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const can = 8
				g := newTestGate(128, func(o *DetectorOptions) { o.Side = c.side })
				machine, random := &shared{side: can}, rand.New(rand.NewPCG(1, 2))
				var good, broken int
				var mu sync.Mutex
				var clients sync.WaitGroup
				start := time.Now()
				for range c.clients {
					clients.Go(func() {
						for time.Since(start) < learning+length {
							mu.Lock()
							takes := time.Duration((.75 + .5*random.Float64()) * float64(c.takes))
							mu.Unlock()
							ctx, cancel := context.WithTimeout(t.Context(), deadline)
							leave, err := g.enter(ctx, Request{File: uploaded(pictureHead), Size: 1000})
							if err == nil {
								err = machine.do(ctx, takes)
								leave(err == nil)
							}
							cancel()
							mu.Lock()
							var refused *SaturatedError
							switch {
							case time.Since(start) < learning:
							case err == nil:
								good++
							case errors.Is(err, context.DeadlineExceeded):
								broken++
							case !errors.As(err, &refused):
								t.Error(err)
							}
							mu.Unlock()
							if err != nil {
								<-time.After(100 * time.Millisecond)
							}
						}
					})
				}
				clients.Wait()
				want := float64(min(can, c.clients)) * length.Seconds() / c.takes.Seconds()
				t.Logf("%d of %.0f done, %d broken off", good, want, broken)
				if float64(good) < .85*want || float64(broken) > .05*want {
					t.Errorf("%d of %.0f done, %d broken off", good, want, broken)
				}
				if g.running != 0 || g.crowd.files != 0 || !g.idle() {
					t.Errorf("in the end %d places are taken: %+v", g.running, g.lines)
				}
			})
		})
	}
}

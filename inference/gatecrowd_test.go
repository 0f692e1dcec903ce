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
	const deadline, learning, length = time.Second, 4 * time.Second, 30 * time.Second
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
				if g.running != 0 || g.lines[long].crowd.files+g.lines[quick].crowd.files != 0 || !g.idle() {
					t.Errorf("in the end %d places are taken: %+v", g.running, g.lines)
				}
			})
		})
	}
}

// What is refused teaches nothing. So there is always a way in for files that take less than
// they seem to: a person's films beside jobs with longer ones of the same size were all
// refused, and so were pictures of which the first had been broken off while the processors were
// busy, as long as there were films.
func TestGateFindsOutThatFilesTakeLess(t *testing.T) {
	t.Parallel()
	film, picture := uploaded(filmHead), uploaded(pictureHead)
	for name, c := range map[string]struct {
		runs     Request // all the time
		running  time.Duration
		others   int
		broken   bool // the first that comes
		comes    Request
		takes    time.Duration
		deadline time.Duration
		least    float64 // of those that come
	}{
		"a person's films beside jobs": {
			runs: Request{Account: "a", Priority: Background, File: film}, running: 80 * time.Second, others: 2,
			comes: Request{Account: "b", File: film}, takes: 3 * time.Second, deadline: 2 * time.Minute, least: .9,
		},
		"one after the other": {
			broken: true, comes: Request{Account: "b", File: picture}, takes: 100 * time.Millisecond, deadline: time.Second, least: 1,
		},
		"pictures beside films": {
			runs: Request{Account: "a", File: film}, running: 600 * time.Millisecond, others: 2, broken: true,
			comes: Request{Account: "b", File: picture}, takes: 100 * time.Millisecond, deadline: time.Second, least: .4, // none for ten seconds
		},
		"films beside pictures": {
			runs: Request{Account: "a", File: picture}, running: 100 * time.Millisecond, others: 5,
			comes: Request{Account: "b", File: film}, takes: 20 * time.Second, deadline: 2 * time.Minute, least: .9,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side = 1 })}
				ctx, cancel := context.WithCancel(t.Context())
				pass := func(req Request, takes, deadline time.Duration) bool {
					soon, end := context.WithTimeout(ctx, deadline)
					defer end()
					return v.through(soon, req, takes) == nil
				}
				if c.broken {
					pass(c.comes, time.Hour, c.deadline)
				}
				for i := range c.others {
					v.Go(func() {
						<-time.After(c.running * time.Duration(i) / time.Duration(c.others)) // never do all pause
						for ctx.Err() == nil {
							pass(c.runs, c.running, time.Hour)
							<-time.After(c.running / 20)
						}
					})
				}
				<-time.After(2 * c.running)
				good, all := 0, int(max(25, 20*time.Second/c.takes))
				for range all {
					if pass(c.comes, c.takes, c.deadline) {
						good++
					}
					<-time.After(c.takes)
				}
				t.Logf("%d of %d are judged", good, all)
				if float64(good) < c.least*float64(all) {
					t.Errorf("%d of %d are judged", good, all)
				}
				cancel()
				v.Wait()
			})
		})
	}
}

// Whoever came while films ran for longer than ten seconds was let in, to see how long they take, since none
// had been let in for as long: all were broken off together, 196 of 200.
func TestFilmsOfMoreThanAWhileAreNotAllLetIn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const deadline, takes, length = 3 * again, 3 * again * 55 / 100, 10 * time.Minute
		v := &visits{gate: newTestGate(8, func(o *DetectorOptions) { o.Side = 1 })}
		machine := &shared{side: 1}
		var good, broken int
		var mu sync.Mutex
		start := time.Now()
		for i := range 3 {
			v.Go(func() {
				for time.Since(start) < length {
					soon, end := context.WithTimeout(t.Context(), deadline)
					err := v.judge(soon, Request{Account: fmt.Sprint(i), File: uploaded(filmHead)}, machine, takes)
					end()
					mu.Lock()
					if err == nil {
						good++
					} else if errors.Is(err, context.DeadlineExceeded) {
						broken++
					}
					mu.Unlock()
					<-time.After(time.Second)
				}
			})
		}
		v.Wait()
		if can := int(length / takes); good < can*8/10 || broken > can/10 {
			t.Errorf("%d of %d films are judged, %d are broken off", good, can, broken)
		}
	})
}

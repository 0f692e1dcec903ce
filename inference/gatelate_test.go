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

// While other programs took the processors, files were let in that could not be done in
// time any more, and how soon they were broken off was taken for what files take: so more
// were let in, nearly all broken off, and their decoders killed for it.
func TestGateWhenProcessorsBecomeSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, rate, deadline = 4, 80, time.Second
		v := &visits{gate: newTestGate(parallel, func(o *DetectorOptions) { o.Wait, o.Burst = deadline/2, deadline/2 })}
		random := rand.New(rand.NewPCG(1, 2))
		var good, broken int
		var mu sync.Mutex
		const normal, slow, length = 50 * time.Millisecond, 400 * time.Millisecond, 60 * time.Second
		for start := time.Now(); time.Since(start) < length; {
			takes := time.Duration((.5 + random.Float64()) * float64(normal))
			if isSlow := time.Since(start) > length/6; isSlow {
				takes *= slow / normal
			}
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			v.pass(ctx, Request{Size: 1000}, takes, func(_ time.Duration, err error) {
				defer cancel()
				mu.Lock()
				defer mu.Unlock()
				if errors.Is(err, context.DeadlineExceeded) {
					broken++
				} else if err == nil && takes >= slow/2 {
					good++
				}
			})
			<-time.After(time.Duration(random.ExpFloat64() / rate * float64(time.Second)))
		}
		v.Wait()
		can := parallel / slow.Seconds() * (length * 5 / 6).Seconds()
		t.Logf("%d of %.0f that can be done are, %d are broken off", good, can, broken)
		if float64(good) < .9*can || float64(broken) > .1*can {
			t.Errorf("%d of %.0f that can be done are, %d are broken off", good, can, broken)
		}
		if v.running != 0 || !v.idle() {
			t.Errorf("in the end %d places are taken: %+v", v.running, v.lines)
		}
	})
}

// A file that had waited until its deadline was answered as if its analysis had taken too
// long. Whoever waits behind it need not wait for what it was waiting for. It is told what
// a film that comes now would wait: half of the film that runs, and the picture.
func TestGateTurnsAwayWhatHasWaitedInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(3, nil)
		film, picture := uploaded(filmHead), uploaded(pictureHead)
		const filmTakes, pictureTakes = 6 * time.Second, 3 * time.Second
		g.costs.observe(classOf(Request{File: film}), cost{filmTakes, 1})
		g.costs.observe(classOf(Request{File: picture}), cost{pictureTakes, 1})
		leave, err := g.enter(t.Context(), Request{File: film})
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 2*filmTakes)
		defer cancel()
		told := make(chan error, 1)
		go func() {
			_, err := g.enter(soon, Request{File: film}) // there is one place, and it needs two
			told <- err
		}()
		synctest.Wait()
		behind := make(chan func(bool), 1)
		go func() {
			leave, err := g.enter(t.Context(), Request{File: picture})
			if err != nil {
				t.Error(err)
			}
			behind <- leave
		}()
		<-time.After(time.Second)
		if len(behind) != 0 {
			t.Error("a picture has slipped past a film")
		}
		var saturated *SaturatedError
		if err := <-told; !errors.As(err, &saturated) || saturated.RetryAfter != (2*filmTakes/2+pictureTakes)/2 {
			t.Errorf("the film: %v, want a SaturatedError with a wait of 4.5s", err)
		}
		(<-behind)(true)
		leave(true)
		if g.running != 0 || !g.idle() {
			t.Errorf("in the end %d places are taken: %+v", g.running, g.lines)
		}
	})
}

// What became of a file that had a place but was not admitted says nothing of what
// others take: while the database stalled, it had the gate refuse what it had room for.
func TestGateLearnsNothingFromWhoIsNotAdmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(1, nil)
		refused := errors.New("no connection")
		_, err := g.enter(t.Context(), Request{Admitted: func() error { <-time.After(time.Minute); return refused }})
		if !errors.Is(err, refused) || len(g.costs) != 0 || g.running != 0 {
			t.Errorf("%v; %d places taken, costs %v", err, g.running, g.costs)
		}
	})
}

// One that had waited in vain behind many was told to come back in a second, where who came then was
// told a quarter of a minute.
func TestGateTellsWhoHasWaitedInVainWhatANewcomerWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const parallel, waiting, takes, deadline = 4, 20, 2 * time.Second, 30 * time.Second
		v := &visits{gate: newTestGate(parallel, func(o *DetectorOptions) { o.Wait, o.Burst = time.Hour, time.Hour })}
		picture := Request{File: uploaded(pictureHead)}
		v.costs.observe(classOf(picture), cost{takes, 1})
		ctx, cancel := context.WithCancel(t.Context())
		for i := range parallel + waiting {
			picture.Account = fmt.Sprint(i)
			v.pass(ctx, picture, 10*time.Minute, func(time.Duration, error) {}) // the processors have become slow
			synctest.Wait()
		}
		told := func(account string, deadline time.Duration) time.Duration {
			soon, end := context.WithTimeout(ctx, deadline)
			defer end()
			_, err := v.enter(soon, Request{Account: account, File: picture.File})
			saturated, ok := errors.AsType[*SaturatedError](err)
			if !ok {
				t.Fatal(err)
			}
			return saturated.RetryAfter
		}
		vain, newcomer := told("vain", deadline), told("newcomer", takes)
		if least := waiting * takes / parallel; vain != newcomer || vain < least {
			t.Errorf("who has waited in vain is told %v, who comes %v; want %v at least", vain, newcomer, least)
		}
		cancel()
		v.Wait()
	})
}

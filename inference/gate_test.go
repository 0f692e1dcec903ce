package inference

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func newTestGate(parallel int, edit func(*DetectorOptions)) *gate {
	opts := DefaultDetectorOptions()
	opts.Parallel = parallel
	if edit != nil {
		edit(&opts)
	}
	return newGate(opts)
}

// idle says whether nothing runs or waits in either line.
func (g *gate) idle() bool {
	for _, l := range g.lines {
		if l.waiting != 0 || l.running != [2]int{} || l.inside != 0 || l.aside != 0 {
			return false
		}
	}
	return true
}

// visits has files of one size pass the gate, each for as long as it takes. The
// caller waits for all.
type visits struct {
	*gate
	sync.WaitGroup
}

// through has one file pass, and returns what came of it.
func (v *visits) through(ctx context.Context, req Request, takes time.Duration) error {
	leave, err := v.enter(ctx, req)
	if err != nil {
		return err
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	leave(err == nil)
	return err
}

// pass sends one file on its way and tells what came of it, with the time from
// now to its end.
func (v *visits) pass(ctx context.Context, req Request, takes time.Duration, tell func(time.Duration, error)) {
	start := time.Now()
	v.Go(func() {
		err := v.through(ctx, req, takes)
		tell(time.Since(start), err)
	})
}

func TestGateRefusesWhenTooManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(1, func(o *DetectorOptions) { o.Waiting = 1 })
		leave, err := g.enter(t.Context(), Request{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		waits := make(chan error, 1)
		go func() {
			_, err := g.enter(ctx, Request{})
			waits <- err
		}()
		synctest.Wait()
		var saturated *SaturatedError
		if _, err := g.enter(t.Context(), Request{}); !errors.As(err, &saturated) || saturated.RetryAfter < time.Second {
			t.Errorf("got %v, want SaturatedError with a wait of at least a second", err)
		}
		cancel()
		if err := <-waits; !errors.Is(err, context.Canceled) {
			t.Errorf("the caller who left: got %v, want context.Canceled", err)
		}
		leave(true)
		if leave, err = g.enter(t.Context(), Request{}); err != nil {
			t.Errorf("after all have left: %v", err)
		}
		leave(true)
	})
}

// Whoever is let into the line is told so before their turn comes, whoever is not is
// never told, and one that thinks better of it holds up nobody.
func TestGateAdmits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newTestGate(1, func(o *DetectorOptions) { o.Waiting = 1 })
		refusal := errors.New("refused")
		told := 0
		asks := func(err error) Request {
			return Request{Admitted: func() error { told++; return err }}
		}
		if _, err := g.enter(t.Context(), asks(refusal)); !errors.Is(err, refusal) {
			t.Errorf("got %v, want what Admitted said", err)
		}
		leave, err := g.enter(t.Context(), asks(nil))
		if err != nil || told != 2 {
			t.Fatalf("the place is not free again: %v, %d told", err, told)
		}
		waits := make(chan func(bool))
		go func() {
			leave, err := g.enter(t.Context(), asks(nil))
			if err != nil {
				t.Error(err)
			}
			waits <- leave
		}()
		synctest.Wait()
		if told != 3 {
			t.Errorf("who waits has not been told")
		}
		var saturated *SaturatedError
		if _, err := g.enter(t.Context(), asks(nil)); !errors.As(err, &saturated) || told != 3 {
			t.Errorf("got %v, %d told; want a SaturatedError and nobody told", err, told)
		}
		leave(true)
		(<-waits)(true)
	})
}

// At three times what it could do the service used to take in everything: 48
// seconds of work stood in line, all of it late, and nothing was refused. Now
// the line stays as short as it may be, whatever the load, and nothing is lost
// of what could be done.
func TestGateGoodputUnderOverload(t *testing.T) {
	t.Parallel()
	for _, factor := range []float64{.5, 1, 2, 3, 10} {
		t.Run(fmt.Sprint(factor), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const parallel, takes, slo = 4, 200 * time.Millisecond, 2 * time.Second
				capacity := parallel / takes.Seconds()
				v := &visits{gate: newTestGate(parallel, nil)}
				random := rand.New(rand.NewPCG(1, uint64(10*factor)))
				const warmup, length = 10 * time.Second, 60 * time.Second
				var good int
				var mu sync.Mutex
				for start := time.Now(); time.Since(start) < length; {
					counts := time.Since(start) > warmup
					v.pass(t.Context(), Request{Size: 1000}, takes, func(took time.Duration, err error) {
						mu.Lock()
						defer mu.Unlock()
						if err == nil && took < slo && counts {
							good++
						}
					})
					<-time.After(time.Duration(random.ExpFloat64() / (factor * capacity) * float64(time.Second)))
				}
				v.Wait()
				want := .9 * min(factor, 1) * capacity * (length - warmup).Seconds()
				if float64(good) < want {
					t.Errorf("%d files in time, want %.0f at least", good, want)
				}
			})
		})
	}
}

// What is refused is told how long it would have waited, and what is let in waits
// no longer than predicted.
func TestGatePredicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		deadline time.Duration
		waiting  int // files of a second each before it, in two places
		refused  bool
	}{
		{"a place is free", 0, 0, false},
		{"short line", 0, 6, false},
		{"burst", 0, 16, false},
		{"more than a burst", 0, 24, true},
		{"deadline can be met", 6 * time.Second, 6, false},
		{"deadline can hardly be met", 4200 * time.Millisecond, 6, true},
		{"deadline can't be met", 3 * time.Second, 6, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &visits{gate: newTestGate(2, func(o *DetectorOptions) { o.Burst = 10 * time.Second })}
				for range 3 { // learn
					v.pass(t.Context(), Request{}, time.Second, func(time.Duration, error) {})
					v.Wait()
				}
				for range c.waiting {
					v.pass(t.Context(), Request{}, time.Second, func(time.Duration, error) {})
					synctest.Wait()
				}
				ctx := t.Context()
				if c.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.deadline)
					defer cancel()
				}
				v.pass(ctx, Request{}, time.Second, func(took time.Duration, err error) {
					var saturated *SaturatedError
					expected := min(time.Duration(c.waiting)*time.Second/2, v.opts.Burst) // no more is let in
					switch {
					case errors.As(err, &saturated) != c.refused:
						t.Errorf("got %v, want it refused: %v", err, c.refused)
					case c.refused && (saturated.RetryAfter < expected-time.Second || saturated.RetryAfter > expected+time.Second):
						t.Errorf("told to come back in %v, want about %v", saturated.RetryAfter, expected)
					case c.refused && took > 0:
						t.Errorf("refused after %v", took)
					case !c.refused && took > expected+time.Second:
						t.Errorf("done after %v, want %v at most", took, expected+time.Second)
					}
				})
				v.Wait()
			})
		})
	}
}

// Ten minutes of work of one account used to stand before everybody.
func TestGateIsFairBetweenAccounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(2, func(o *DetectorOptions) { o.Wait, o.Burst = time.Hour, time.Hour })}
		ignore := func(_ time.Duration, err error) {
			if err != nil {
				t.Error(err)
			}
		}
		v.pass(t.Context(), Request{}, time.Second, ignore)
		v.Wait()
		for range 100 {
			v.pass(t.Context(), Request{Account: "greedy"}, time.Second, ignore)
		}
		synctest.Wait()
		<-time.After(10*time.Second + time.Millisecond)
		for i := range 3 {
			v.pass(t.Context(), Request{Account: "modest"}, time.Second, func(took time.Duration, err error) {
				if err != nil || took > time.Duration(i+2)*time.Second {
					t.Errorf("number %d done after %v (%v), behind 80 of another account", i, took, err)
				}
			})
			synctest.Wait()
		}
		v.Wait()
	})
}

// A job has nobody who waits, but it must come to its turn.
func TestGateBackgroundIsOvertakenForItsDelayAndNoLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visits{gate: newTestGate(1, func(o *DetectorOptions) { o.Wait, o.Burst = time.Hour, time.Hour })}
		v.pass(t.Context(), Request{}, time.Second, func(time.Duration, error) {})
		synctest.Wait()
		v.pass(t.Context(), Request{Priority: Background}, time.Second, func(took time.Duration, _ error) {
			if took < 9*time.Second || took > 13*time.Second {
				t.Errorf("the job was done after %v, want about the delay of 10s", took)
			}
		})
		for range 30 {
			v.pass(t.Context(), Request{}, time.Second, func(time.Duration, error) {})
			<-time.After(time.Second)
		}
		v.Wait()
	})
}

func TestCosts(t *testing.T) {
	t.Parallel()
	g := newTestGate(1, nil)
	c := g.costs
	if got := c.mean(); got != guess {
		t.Errorf("before anything was seen: %v", got)
	}
	for range 40 {
		c.observe(class{"JPEG", 17}, cost{100 * time.Millisecond, 1})
		c.observe(class{"JPEG", 22}, cost{time.Second, 1})
		c.observe(class{"MP4", 22}, cost{10 * time.Second, 1})
	}
	for _, want := range []struct {
		of   class
		line int
		cost time.Duration
	}{
		{class{"JPEG", 17}, quick, 100 * time.Millisecond},
		{class{"JPEG", 18}, quick, 100 * time.Millisecond}, // the nearest
		{class{"JPEG", 24}, long, time.Second},
		{class{"MP4", 23}, long, 10 * time.Second},
		{class{"WAV", 22}, long, 3700 * time.Millisecond}, // the mean
		{class{"WAV", 22}, quick, briefly},
	} {
		if got := g.thought(&visit{class: want.of, entry: entry{queue: want.line}}); got != want.cost {
			t.Errorf("%v: got %v, want %v", want.of, got, want.cost)
		}
	}
}

// upload is a file that notes whether it was opened.
type upload struct {
	*strings.Reader
	opened bool
}

func uploaded(content string) *upload { return &upload{Reader: strings.NewReader(content)} }

func (u *upload) Rewind() (*os.File, error) {
	u.opened = true
	return nil, nil
}

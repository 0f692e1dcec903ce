package load

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pause waits in fake time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) bool { return waitUntil(ctx, time.Now().Add(d)) }

// target answers after a delay that depends on the time since the start.
func target(delay func(since time.Duration) time.Duration) Source {
	start := time.Now()
	return func() Call {
		return func(ctx context.Context) Answer {
			if !pause(ctx, delay(time.Since(start))) {
				return Answer{Mode: "sync", Error: "timeout"}
			}
			return Answer{Mode: "sync", OK: true, Statuses: []int{200}}
		}
	}
}

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

// plan is one that tests change.
func plan() Plan {
	return Plan{Warmup: time.Second, Window: 10 * time.Second, Windows: 10, SLO: 2 * time.Second, Timeout: time.Hour, Connections: 1000}
}

// bubble runs a plan in fake time.
func bubble(t *testing.T, p Plan, delay func(time.Duration) time.Duration) (r *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = Run(t.Context(), p, target(delay))
		require.NoError(t, err)
	})
	return r
}

func near(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.InEpsilon(t, want.Seconds(), got.Seconds(), .01)
}

// stall is Gil Tene's example (How NOT to Measure Latency): a hundred seconds of
// answers within a millisecond, then a hundred in which nothing moves.
func stall(afterwards time.Duration) func(since time.Duration) time.Duration {
	return func(since time.Duration) time.Duration {
		if since < 100*time.Second {
			return time.Millisecond
		}
		return max(200*time.Second-since, afterwards)
	}
}

// TestStalledTarget: with a hundred requests a second due over one connection,
// ten thousand of 25,000 suffer from the stall, by 50 seconds on average. The
// closed loop sends one request meanwhile and sees nothing of it.
func TestStalledTarget(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Warmup, p.Window, p.Windows = 0, 250*time.Second, 1
	p.Rate, p.Connections = 100, 1
	due := bubble(t, p, stall(0)).Due()
	l := due.Latency("sync")
	assert.InDelta(t, 25000, l.Count(), 2)
	assert.Zero(t, due.Unsent)
	assert.Less(t, l.Percentile(59), 2*time.Millisecond)
	near(t, 50*time.Second, l.Percentile(80))
	near(t, 97500*time.Millisecond, l.Percentile(99))
	near(t, 100*time.Second, l.Max())

	p.Rate, p.Clients, p.Window = 0, 1, 200*time.Second
	l = bubble(t, p, stall(time.Millisecond)).Due().Latency("sync")
	assert.Greater(t, l.Count(), 90000)
	assert.Less(t, l.Percentile(99.9), 2*time.Millisecond)
	near(t, 100*time.Second, l.Max())
}

// TestOverload: a target that answers one request a second, asked for two, is
// steadily late by more and more; what never gets a connection is told.
func TestOverload(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Rate, p.Connections, p.Windows, p.Warmup = 2, 1, 4, 0
	r := bubble(t, p, always(time.Second))
	assert.False(t, r.Steady)
	throughput, goodput := r.Rates()
	assert.InDelta(t, 1, throughput, .05)
	assert.Less(t, goodput, .2)
	due := r.Due()
	assert.InDelta(t, 40, due.Unsent, 2)
	assert.Equal(t, due.Requests, due.Successes+due.Unsent)
	assert.InDelta(t, 20, due.Delay().Max().Seconds(), 1)
	_, latency := r.Spread()
	assert.Greater(t, latency, tolerance)

	// The median was that of the requests that were sent, the first half: 10 seconds.
	l := due.Latency("sync")
	assert.InDelta(t, 10, l.Percentile(25).Seconds(), 1)
	assert.True(t, l.Known(45))
	assert.False(t, l.Known(60))
	assert.False(t, l.Tells(60))
	assert.Equal(t, l.Max(), l.Percentile(60), "the bound that is known")
}

func TestSteadyLoops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change     func(p *Plan)
		throughput float64
	}{
		"constant": {func(p *Plan) { p.Rate = 50 }, 50},
		"poisson":  {func(p *Plan) { p.Rate, p.Poisson, p.Window = 500, true, 30*time.Second }, 500},
		"closed":   {func(p *Plan) { p.Clients = 3 }, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan()
			c.change(&p)
			r := bubble(t, p, always(100*time.Millisecond))
			assert.True(t, r.Steady)
			assert.Len(t, r.Windows, 3)
			throughput, goodput := r.Rates()
			assert.InEpsilon(t, c.throughput, throughput, .05)
			assert.InDelta(t, throughput, goodput, 0)
			due := r.Due()
			near(t, 100*time.Millisecond, due.Latency("sync").Percentile(99.9))
			assert.Equal(t, map[int]int{200: due.Requests}, due.Statuses)
			assert.Zero(t, due.Unsent+due.Unfinished+due.Failures+len(due.Errors))
		})
	}
}

// TestNotSteadyAtFirst: a target that gets faster is measured from when it no
// longer does.
func TestNotSteadyAtFirst(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Clients = 1
	r := bubble(t, p, func(since time.Duration) time.Duration {
		if since < 21*time.Second {
			return 100 * time.Millisecond
		}
		return 50 * time.Millisecond
	})
	assert.True(t, r.Steady)
	assert.Len(t, r.Windows, 5)
	throughput, _ := r.Rates()
	assert.InEpsilon(t, 20, throughput, .02)
	near(t, 30*time.Second, r.Length())
}

func TestPoissonGaps(t *testing.T) {
	t.Parallel()
	p := Plan{Rate: 20, Poisson: true, Seed: 1}
	gaps, again := p.gaps(), p.gaps()
	const n = 200_000
	sum, squares := 0., 0.
	for range n {
		g := gaps().Seconds()
		require.InDelta(t, g, again().Seconds(), 0)
		sum, squares = sum+g, squares+g*g
	}
	mean := sum / n
	assert.InEpsilon(t, .05, mean, .01)
	assert.InEpsilon(t, .05, math.Sqrt(squares/n-mean*mean), .02, "the standard deviation is the mean")
}

func TestGoodput(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Rate, p.SLO, p.Windows = 10, time.Second, 2
	n := 0
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), p, func() Call {
			n++
			slow := n%4 == 0
			return func(ctx context.Context) Answer {
				took := time.Second
				if slow {
					took++
				}
				pause(ctx, took)
				return Answer{Mode: "sync", OK: true, Statuses: []int{200}}
			}
		})
		require.NoError(t, err)
		throughput, goodput := r.Rates()
		assert.InEpsilon(t, 10, throughput, .02)
		assert.InEpsilon(t, 7.5, goodput, .02)
	})
}

// TestRefusedClientsPause: clients of a closed loop came back at once after a refusal. A
// service that was full got 19,722 of them for seven answers, and was busy with that.
func TestRefusedClientsPause(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Clients, p.Windows = 2, 3
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), p, func() Call {
			return func(ctx context.Context) Answer {
				pause(ctx, time.Millisecond)
				return Answer{Mode: "sync", Statuses: []int{429}}
			}
		})
		require.NoError(t, err)
		assert.InEpsilon(t, 2*30*time.Second/(11*time.Millisecond), r.Due().Failures, .01)
	})
}

// TestFates: whatever a request comes to, it is counted once, and where it belongs.
func TestFates(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Burst, p.Warmup, p.Timeout = 6, 0, 3*time.Second
	kinds := []Answer{{OK: true, Mode: "async", Statuses: []int{202, 200, 200}}, {Statuses: []int{429}, Messages: map[int]string{429: "Later."}}, {Statuses: []int{202, 200}}, {Error: "connection refused"}, {OK: true, Mode: "sync", Statuses: []int{200}}, {Error: "timeout", Mode: "sync"}}
	synctest.Test(t, func(t *testing.T) {
		i := -1
		r, err := Run(t.Context(), p, func() Call {
			i++
			a := kinds[i]
			return func(ctx context.Context) Answer {
				if a.Error == "timeout" {
					<-ctx.Done()
				}
				return a
			}
		})
		require.NoError(t, err)
		due := r.Due()
		assert.Equal(t, [6]int{6, 2, 2, 0, 0, 2}, [6]int{due.Requests, due.Successes, due.Failures, due.Unsent, due.Unfinished, due.Good})
		assert.Equal(t, map[string]int{"connection refused": 1, "timeout": 1}, due.Errors)
		assert.Equal(t, map[string]int{"sync": 1}, due.TimedOut)
		assert.Equal(t, map[int]int{200: 4, 202: 2, 429: 1}, due.Statuses)
		assert.Equal(t, map[int]string{429: "Later."}, due.Messages)
		assert.Equal(t, []string{"async", "sync"}, due.Modes())
		assert.Equal(t, 3*time.Second, r.Length())
		assert.False(t, r.Steady)
	})
}

// TestTimeoutsAreLatencies: what was given up was missing from the percentiles, so that
// whoever gave requests less time measured a better tail. Ten of a hundred are answered
// after five seconds here.
func TestTimeoutsAreLatencies(t *testing.T) {
	t.Parallel()
	for timeout, tail := range map[time.Duration]time.Duration{time.Minute: 5 * time.Second, time.Second: time.Second} {
		var n atomic.Int64
		p := plan()
		p.Burst, p.Warmup, p.Timeout = 100, 0, timeout
		r := bubble(t, p, func(time.Duration) time.Duration {
			if n.Add(1)%10 == 0 {
				return 5 * time.Second
			}
			return 10 * time.Millisecond
		})
		l := r.Due().Latency("sync")
		assert.Equal(t, 100, l.Count(), timeout)
		near(t, 10*time.Millisecond, l.Percentile(90))
		near(t, tail, l.Percentile(91))
		near(t, tail, l.Max())
		assert.Equal(t, r.Due().Errors["timeout"], r.Due().TimedOut["sync"])
	}
}

// TestInterrupted: what was measured until then is told, and what went on is not
// taken for a failure.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after                time.Duration
		windows, unfinished  int
		length               time.Duration
		throughput, tolerate float64
	}{
		"during the warm-up": {500 * time.Millisecond, 0, 0, 0, 0, 0},
		"with the warm-up":   {time.Second, 0, 0, 0, 0, 0},
		"in a window":        {15*time.Second + 50*time.Millisecond, 2, 4, 14 * time.Second, 10, .8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.after)
				defer cancel()
				p := plan()
				p.Rate = 10
				r, err := Run(ctx, p, target(always(450*time.Millisecond)))
				require.NoError(t, err)
				assert.True(t, r.Interrupted)
				require.Len(t, r.Windows, c.windows)
				assert.InDelta(t, c.length.Seconds(), r.Length().Seconds(), .1)
				throughput, _ := r.Rates()
				assert.InDelta(t, c.throughput, throughput, c.tolerate)
				due := r.Due()
				assert.InDelta(t, c.unfinished, due.Unfinished, 1)
				assert.Empty(t, due.Errors)
			})
		})
	}
}

// TestMeter: the warm-up costs nothing, and a meter that fails gives no figures.
func TestMeter(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Rate = 10
	synctest.Test(t, func(t *testing.T) {
		start, peak := time.Now(), int64(5)
		p.Meter = func() (Reading, error) {
			peak--
			return Reading{CPU: time.Since(start) / 2, Memory: peak}, nil
		}
		r, err := Run(t.Context(), p, target(always(time.Millisecond)))
		require.NoError(t, err)
		cpu, memory, known := r.Cost()
		assert.True(t, known)
		near(t, 50*time.Millisecond, cpu)
		assert.Equal(t, int64(4), memory)
		p.Meter = func() (Reading, error) { return Reading{}, errors.New("gone") }
		r, err = Run(t.Context(), p, target(always(time.Millisecond)))
		require.NoError(t, err)
		_, _, known = r.Cost()
		assert.False(t, known)
		assert.EqualError(t, r.MeterError, "gone")
	})
}

// TestProcessThatLeaves: the sum over the target's processes falls where one leaves them,
// and a success cost less than no processor time.
func TestProcessThatLeaves(t *testing.T) {
	t.Parallel()
	p, left := plan(), []time.Duration{0, 50 * time.Second, 20 * time.Second, 60 * time.Second}
	p.Rate = 10
	p.Meter = func() (Reading, error) {
		now := left[0]
		left = left[1:]
		return Reading{CPU: now}, nil
	}
	r := bubble(t, p, always(time.Millisecond))
	_, _, known := r.Cost()
	assert.False(t, known)
	assert.ErrorIs(t, r.MeterError, errGone)
}

func TestBurst(t *testing.T) {
	t.Parallel()
	p := plan()
	p.Burst = 40
	r := bubble(t, p, always(250*time.Millisecond))
	throughput, _ := r.Rates()
	assert.InDelta(t, 160, throughput, .1)
	assert.Equal(t, 40, r.Due().Successes)
}

// Not a number was a rate without any request. One of 1e-11 a second has gaps that no
// duration holds: they were negative, requests went out as fast as could be, and what
// was due before the end was counted for ever, whoever interrupted it. Latencies beyond an
// hour were told as an hour. Windows of 300,000 hours added up to less than no time: the
// time limit, which nobody had set, ended the measurement at once.
func TestValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, Plan{Rate: 1, Window: 1, Windows: 1, SLO: 1, Timeout: 1, Connections: 1}.Validate())
	for name, change := range map[string]func(p *Plan){
		"no load": func(p *Plan) { p.Rate = 0 }, "two loads": func(p *Plan) { p.Clients = 1 }, "less than nothing": func(p *Plan) { p.Rate = -1 },
		"not a rate": func(p *Plan) { p.Rate = math.Inf(1) }, "not a number": func(p *Plan) { p.Rate = math.NaN() },
		"never": func(p *Plan) { p.Rate = 1e-11 }, "no windows": func(p *Plan) { p.Windows = 0 }, "no time": func(p *Plan) { p.Window = 0 },
		"a long timeout": func(p *Plan) { p.Timeout = time.Hour + time.Minute }, "long windows": func(p *Plan) { p.Window = 300000 * time.Hour }, "a long warm-up": func(p *Plan) { p.Warmup = 300000 * time.Hour },
		"no timeout": func(p *Plan) { p.Timeout = 0 }, "no connections": func(p *Plan) { p.Connections = 0 }, "cold": func(p *Plan) { p.Warmup = -1 },
	} {
		p := plan()
		p.Rate = 1
		change(&p)
		_, err := Run(t.Context(), p, nil)
		assert.Error(t, err, name)
	}
}

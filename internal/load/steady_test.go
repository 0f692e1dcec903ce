package load

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// window has so many successes in a second, each of which took so long.
func window(successes int, took time.Duration) Window {
	w := Window{time.Second, newTally(), newTally()}
	start := time.Now()
	for range successes {
		w.Ended.add(event{Answer: Answer{OK: true, Mode: "sync"}, due: start, sent: start, done: start.Add(took)}, time.Hour)
	}
	return w
}

func TestSteady(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		windows []Window
		want    bool
	}{
		"too few":           {[]Window{window(100, ms), window(100, ms)}, false},
		"the same":          {[]Window{window(100, ms), window(100, ms), window(100, ms)}, true},
		"within a tenth":    {[]Window{window(91, 95*ms), window(100, 100*ms), window(109, 105*ms)}, true},
		"throughput beyond": {[]Window{window(85, ms), window(100, ms), window(115, ms)}, false},
		"one far away":      {[]Window{window(100, ms), window(100, ms), window(130, ms)}, false},
		"latency beyond":    {[]Window{window(100, 85*ms), window(100, 100*ms), window(100, 115*ms)}, false},
		"only the last":     {[]Window{window(1, ms), window(100, ms), window(100, ms), window(100, ms)}, true},
		"a gap":             {[]Window{window(100, ms), window(0, ms), window(100, ms)}, false},
		"nothing":           {[]Window{window(0, ms), window(0, ms), window(0, ms)}, false},
	} {
		assert.Equal(t, c.want, steady(c.windows), name)
	}
}

// TestModesAreApart: one mode's median may not hide behind another's.
func TestModesAreApart(t *testing.T) {
	t.Parallel()
	var windows []Window
	for i := range 3 {
		w := window(100, time.Millisecond)
		start := time.Now()
		w.Ended.add(event{Answer: Answer{OK: true, Mode: "async"}, due: start, sent: start, done: start.Add(time.Second * time.Duration(i+1))}, time.Hour)
		windows = append(windows, w)
	}
	throughput, latency := spread(windows)
	assert.InDelta(t, 0, throughput, 1e-9)
	assert.InDelta(t, .5, latency, .01)
	_, latency = spread([]Window{windows[0], window(100, time.Millisecond)})
	assert.True(t, math.IsInf(latency, 1))
}

func TestBars(t *testing.T) {
	t.Parallel()
	tally := newTally()
	for _, d := range []time.Duration{time.Millisecond, 1500 * time.Microsecond, 15 * time.Millisecond} {
		put(tally.delay, d)
	}
	bars := tally.Delay().Bars(1)
	assert.Equal(t, []Bar{{time.Millisecond, 10 * time.Millisecond, 2}, {10 * time.Millisecond, 100 * time.Millisecond, 1}}, bars)
	assert.Empty(t, newTally().Delay().Bars(4))
	put(tally.delay, 100*time.Hour)
	assert.InEpsilon(t, float64(time.Hour), float64(tally.Delay().Max()), .001)
}

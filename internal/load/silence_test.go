package load

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestSilenced: where a server hung, and did not refuse, it was not told that it had
// stopped answering, and a ramp went on: in an open loop all that was due in the last
// window waited for a connection, in a closed one nothing was due there. A single request
// that failed in a window of one was a server that had stopped.
func TestSilenced(t *testing.T) {
	t.Parallel()
	hangs := func(from, until time.Duration) func(time.Duration) time.Duration {
		return func(since time.Duration) time.Duration {
			if since < from {
				return 10 * time.Millisecond
			}
			return max(until-since, 10*time.Millisecond)
		}
	}
	for name, c := range map[string]struct {
		change func(p *Plan)
		delay  func(time.Duration) time.Duration
		want   bool
	}{
		"an open loop":        {func(p *Plan) { p.Rate, p.Poisson = 50, true }, hangs(20*time.Second, time.Hour), true},
		"a closed loop":       {func(p *Plan) { p.Clients, p.Window, p.Windows, p.Timeout = 4, time.Second, 6, 7*time.Second }, hangs(2*time.Second, time.Hour), true},
		"the warm-up":         {func(p *Plan) { p.Clients, p.Windows = 4, 3 }, hangs(0, time.Hour), true},
		"a burst":             {func(p *Plan) { p.Burst = 3 }, hangs(time.Second, time.Hour), true},
		"one request":         {func(p *Plan) { p.Rate, p.Window, p.Windows = .5, 2*time.Second, 3 }, hangs(5*time.Second, time.Hour), false},
		"one that comes back": {func(p *Plan) { p.Rate, p.Connections, p.Windows = 50, 100, 4 }, hangs(20*time.Second, 45*time.Second), false},
		"nothing due":         {func(p *Plan) { p.Rate, p.Window, p.Windows = .1, time.Second, 14 }, always(time.Millisecond), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan()
			p.Timeout = time.Minute
			c.change(&p)
			assert.Equal(t, c.want, bubble(t, p, c.delay).Silenced())
		})
	}
}

// TestUnsentIsNotSilence: sending may end when the only connection has just had its answer.
// What waits for it then was not refused by anybody.
func TestUnsentIsNotSilence(t *testing.T) {
	t.Parallel()
	start := time.Now()
	r := newRecorder(start, time.Second, 2, time.Second)
	r.add(event{Answer: Answer{OK: true, Mode: "sync", Statuses: []int{200}}, due: start, sent: start, done: start.Add(2 * time.Second)})
	for range 5 {
		r.add(event{due: start.Add(time.Second), fate: unsent})
	}
	assert.False(t, (&Result{Windows: r.all, lost: r.lost}).Silenced())
}

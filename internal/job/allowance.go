package job

import (
	"sync"
	"time"
)

// allowance is a deadline by the time that this process has had. It is counted in steps, of
// which a pause of the process (SIGSTOP, a frozen container) prolongs one: however long it is, none of it
// counts. It is safe for concurrent use.
type allowance struct {
	over func() // called with mu held

	mu    sync.Mutex
	left  time.Duration // after the step that timer waits for
	timer *time.Timer   // nil while nothing is counted
}

// step is the most that one timer counts.
const step = time.Second

// allow calls over when d is used up, unless that is stopped before. The caller stops it.
func allow(d time.Duration, over func()) *allowance {
	a := &allowance{over: over}
	a.reset(d)
	return a
}

// reset begins anew.
func (a *allowance) reset(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.halt()
	a.left = d
	a.count()
}

// stop counts no more, until reset.
func (a *allowance) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.halt()
}

func (a *allowance) halt() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
}

// count begins the next step.
func (a *allowance) count() {
	next := min(a.left, step)
	a.left -= next
	var mine *time.Timer
	mine = time.AfterFunc(next, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		switch {
		case a.timer != mine: // stopped while it fired
		case a.left > 0:
			a.count()
		default:
			a.over()
		}
	})
	a.timer = mine
}

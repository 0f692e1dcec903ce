package load

import (
	"sync"
	"time"
)

// Reading is what the target's processes have used.
type Reading struct {
	CPU    time.Duration // since they started
	Memory int64         // bytes, now
}

// Meter reads. It is never called concurrently.
type Meter func() (Reading, error)

// Window is a stretch of the measurement.
type Window struct {
	Length time.Duration
	Ended  *Tally // successes that came to an end in it, whenever they were due
	Due    *Tally // what was due in it, however long it took
}

// Throughput is how many successes a second came to an end.
func (w Window) Throughput() float64 { return float64(w.Ended.Successes) / w.Length.Seconds() }

// recorder sorts requests into windows of one length. It is safe for concurrent
// use.
type recorder struct {
	start  time.Time // of the first
	length time.Duration
	slo    time.Duration
	mu     sync.Mutex
	all    []Window
	lost   int // requests in a row, up to the last that ended, that got no answer
}

func newRecorder(start time.Time, length time.Duration, windows int, slo time.Duration) *recorder {
	r := &recorder{start: start, length: length, slo: slo}
	for range windows {
		r.all = append(r.all, Window{length, newTally(), newTally()})
	}
	return r
}

func (r *recorder) add(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.follow(e)
	if w := r.at(e.due); w != nil {
		w.Due.add(e, r.slo)
	}
	if w := r.at(e.done); w != nil && e.fate == answered && e.OK {
		w.Ended.add(e, r.slo)
	}
}

// follow counts the requests since the last answer. One that was never sent, or not waited
// for, tells nothing, nor does one that was given up after some answers: nobody knows
// when they came.
func (r *recorder) follow(e event) {
	switch heard := len(e.Statuses) > 0; {
	case e.fate == unsent, e.fate == unfinished, e.fate == timedOut && heard:
	case heard:
		r.lost = 0
	default:
		r.lost++
	}
}

// at is the window of a moment, or nil.
func (r *recorder) at(moment time.Time) *Window {
	since := moment.Sub(r.start)
	if since < 0 || since >= r.length*time.Duration(len(r.all)) {
		return nil
	}
	return &r.all[since/r.length]
}

// steady looks at the last of so many windows.
func (r *recorder) steady(windows int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return steady(r.all[:windows])
}

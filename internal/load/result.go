package load

import (
	"slices"
	"time"
)

// Result is what was measured.
type Result struct {
	Windows     []Window
	Steady      bool // the last three tell the same; never that of a burst
	Interrupted bool // ctx ended it
	MeterError  error
	readings    []Reading // at the start of each window, and at the end of the last
	lost        int       // requests in a row, up to the last that ended, that got no answer
}

// Measured are the windows that figures rest on: the last three where they are
// steady, all of them where it never was.
func (r *Result) Measured() []Window {
	if r.Steady {
		return r.Windows[len(r.Windows)-alike:]
	}
	return r.Windows
}

// Length is how long these windows are together.
func (r *Result) Length() (all time.Duration) {
	for _, w := range r.Measured() {
		all += w.Length
	}
	return all
}

// Due is what became of the requests that were due in these windows.
func (r *Result) Due() *Tally {
	all := newTally()
	for _, w := range r.Measured() {
		all.merge(w.Due)
	}
	return all
}

// silence is how many requests in a row have no answer where that is no chance.
const silence = 2

// Silenced says that no request of the last window got any HTTP answer, and that the
// last ones to end got none either, whenever they were due: the target is gone, and
// what was measured before hides it. While one hangs, the last window may have nothing
// but requests that found no connection, and that of a closed loop none at all.
func (r *Result) Silenced() bool {
	if len(r.Windows) == 0 {
		return false
	}
	return len(r.Windows[len(r.Windows)-1].Due.Statuses) == 0 && r.lost >= silence
}

// Answered says that there was an HTTP answer in one of the windows.
func (r *Result) Answered() bool {
	return slices.ContainsFunc(r.Windows, func(w Window) bool { return len(w.Due.Statuses) > 0 })
}

// Rates are how many successes a second came to an end in these windows, and how
// many of them in time. What piles up and ends later, counts later.
func (r *Result) Rates() (throughput, goodput float64) {
	successes, good := r.ended()
	if length := r.Length().Seconds(); length > 0 {
		return float64(successes) / length, float64(good) / length
	}
	return 0, 0
}

func (r *Result) ended() (successes, good int) {
	for _, w := range r.Measured() {
		successes += w.Ended.Successes
		good += w.Ended.Good
	}
	return successes, good
}

// Cost is the processor time of the target for each success that came to an end,
// whatever else it did meanwhile, and the most memory that was read. It is not
// known without a meter, or without a success.
func (r *Result) Cost() (cpu time.Duration, memory int64, known bool) {
	successes, _ := r.ended()
	n := len(r.Measured())
	if len(r.readings) != len(r.Windows)+1 || successes == 0 {
		return 0, 0, false
	}
	readings := r.readings[len(r.readings)-n-1:]
	for _, m := range readings {
		memory = max(memory, m.Memory)
	}
	return (readings[n].CPU - readings[0].CPU) / time.Duration(successes), memory, true
}

// Spread is how far throughput and median latency of the last windows, three at
// most, lie from their means, as shares of these.
func (r *Result) Spread() (throughput, latency float64) {
	return spread(r.Windows[max(0, len(r.Windows)-alike):])
}

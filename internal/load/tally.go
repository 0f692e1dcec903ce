package load

import (
	"maps"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// What histograms hold: microseconds to three digits, up to an hour.
const (
	longest = int64(time.Hour / time.Microsecond)
	digits  = 3
)

// Tally counts requests. Latencies are those of successes, from the moment when
// they were due, and of requests that were given up after their time, until then:
// they would have taken longer, and a shorter time would flatter without them. A
// refusal is quick, and would flatter with it. Not safe for concurrent use.
type Tally struct {
	Requests   int            // all; each of them is counted in one of the next five
	Successes  int            // answered as they should be
	Failures   int            // refused; the status says how
	Errors     map[string]int // failed in another way, by what is said of it
	Unsent     int            // were due, but no connection was free before sending ended
	Unfinished int            // went on when the run was ended
	TimedOut   map[string]int // those of Errors that were given up after their time, by mode
	Good       int            // successes within the time that was asked for
	Statuses   map[int]int    // HTTP answers; a request may have had several
	Messages   map[int]string // what the first answer of a status said of itself, if any did

	latency map[string]*hdrhistogram.Histogram // by mode
	delay   *hdrhistogram.Histogram            // from due to sent
}

func newTally() *Tally {
	return &Tally{Errors: map[string]int{}, TimedOut: map[string]int{}, Statuses: map[int]int{}, Messages: map[int]string{}, latency: map[string]*hdrhistogram.Histogram{}, delay: newHistogram()}
}

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, digits) }

// add counts a request. A success is good when it took no longer than slo.
func (t *Tally) add(e event, slo time.Duration) {
	t.Requests++
	if e.fate == unsent {
		t.Unsent++
		return
	}
	put(t.delay, e.sent.Sub(e.due))
	for _, status := range e.Statuses {
		t.Statuses[status]++
	}
	t.hear(e.Messages)
	switch took := e.done.Sub(e.due); {
	case e.fate == unfinished:
		t.Unfinished++
	case e.OK:
		t.Successes++
		if took <= slo {
			t.Good++
		}
		put(t.of(e.Mode), took)
	case e.Error != "":
		t.Errors[e.Error]++
		if e.fate == timedOut {
			t.TimedOut[e.Mode]++
			put(t.of(e.Mode), took)
		}
	default:
		t.Failures++
	}
}

func (t *Tally) of(mode string) *hdrhistogram.Histogram {
	h, ok := t.latency[mode]
	if !ok {
		h = newHistogram()
		t.latency[mode] = h
	}
	return h
}

// hear keeps the messages of statuses that have none yet.
func (t *Tally) hear(messages map[int]string) {
	for status, message := range messages {
		if _, known := t.Messages[status]; !known {
			t.Messages[status] = message
		}
	}
}

// put records a duration, within what the histogram holds.
func put(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), 1), longest)) // fails only beyond these bounds
}

// merge adds another tally to this one.
func (t *Tally) merge(o *Tally) {
	t.Requests += o.Requests
	t.Successes += o.Successes
	t.Failures += o.Failures
	t.Unsent += o.Unsent
	t.Unfinished += o.Unfinished
	t.Good += o.Good
	for status, n := range o.Statuses {
		t.Statuses[status] += n
	}
	t.hear(o.Messages)
	for what, n := range o.Errors {
		t.Errors[what] += n
	}
	for mode, n := range o.TimedOut {
		t.TimedOut[mode] += n
	}
	for mode, h := range o.latency {
		t.of(mode).Merge(h)
	}
	t.delay.Merge(o.delay)
}

// Modes are those with a latency, in alphabetical order.
func (t *Tally) Modes() []string { return slices.Sorted(maps.Keys(t.latency)) }

// Latency is the distribution of a mode's latencies, in which requests that were never
// sent are the longest. Nobody knows of which mode they would have been: each has an
// equal share. It must not be called for a mode without a latency.
func (t *Tally) Latency(mode string) Distribution {
	modes := len(t.latency)
	return Distribution{t.latency[mode], (t.Unsent + modes - 1) / modes}
}

// Delay is how late requests were sent: for want of a connection, or because this
// machine was busy.
func (t *Tally) Delay() Distribution { return Distribution{h: t.delay} }

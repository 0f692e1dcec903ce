package load

import (
	"context"
	"errors"
	"time"
)

// Run puts load on what source calls, and measures. It returns when every request
// has ended. Where ctx ends earlier, the result is what was measured until then.
func Run(ctx context.Context, p Plan, source Source) (*Result, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if p.Burst > 0 {
		return p.runBurst(ctx, source), nil
	}
	return p.runLoop(ctx, source), nil
}

// runLoop measures until three windows are steady, or there are enough.
func (p Plan) runLoop(ctx context.Context, source Source) *Result {
	r := newRecorder(time.Now().Add(p.Warmup), p.Window, p.Windows, p.SLO)
	sending, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.generate(ctx, sending, source, r)
	}()
	out := p.watch(ctx, r)
	stop()
	<-ended
	out.Interrupted, out.lost = ctx.Err() != nil, r.lost
	return out
}

func (p Plan) generate(ctx, sending context.Context, source Source, r *recorder) {
	g := &generator{source: source, timeout: p.Timeout, record: r.add}
	if p.Rate > 0 {
		g.open(ctx, sending, p.gaps(), p.Connections)
		return
	}
	g.closed(ctx, sending, p.Clients)
}

// watch waits for windows to pass. The windows of its result share their tallies
// with the recorder, so that what ends later still counts.
func (p Plan) watch(ctx context.Context, r *recorder) *Result {
	out := &Result{}
	if !waitUntil(ctx, r.start) {
		return out
	}
	p.read(out)
	for n := 1; n <= p.Windows && !out.Steady; n++ {
		begun := r.start.Add(p.Window * time.Duration(n-1))
		full := waitUntil(ctx, begun.Add(p.Window))
		w := r.all[n-1]
		if !full {
			w.Length = time.Since(begun)
		}
		if w.Length <= 0 {
			break
		}
		out.Windows = append(out.Windows, w)
		p.read(out)
		if !full {
			break
		}
		out.Steady = r.steady(n)
	}
	return out
}

// errGone is why the sum over processes falls.
var errGone = errors.New("a process has left those that are read, with the time that it used")

// read takes a reading. After one that failed there are no more: figures of some
// of the time would be taken for those of all. One that is below the last has failed:
// what a process used that is no longer among the target's is missing.
func (p Plan) read(out *Result) {
	if p.Meter == nil || out.MeterError != nil {
		return
	}
	reading, err := p.Meter()
	if n := len(out.readings); err == nil && n > 0 && reading.CPU < out.readings[n-1].CPU {
		err = errGone
	}
	if err != nil {
		out.MeterError = err
		return
	}
	out.readings = append(out.readings, reading)
}

// runBurst warms up with one client. Its only window ends with the last request.
func (p Plan) runBurst(ctx context.Context, source Source) *Result {
	g := &generator{source: source, timeout: p.Timeout, record: func(event) {}}
	if p.Warmup > 0 {
		warming, stop := context.WithTimeout(ctx, p.Warmup)
		g.closed(ctx, warming, 1)
		stop()
	}
	out := &Result{}
	if ctx.Err() != nil {
		out.Interrupted = true
		return out
	}
	p.read(out)
	r := newRecorder(time.Now(), 2*p.Timeout, 1, p.SLO)
	g.record = r.add
	g.burst(ctx, p.Burst)
	w := r.all[0]
	w.Length = max(time.Since(r.start), 1)
	out.Windows, out.Interrupted, out.lost = []Window{w}, ctx.Err() != nil, r.lost
	p.read(out)
	return out
}

package preprocess

import (
	"context"
	"time"
)

// The wait before another child is started after one did not start.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 10 * time.Second
)

// What a child may use of the processor between two files, as Go's collector does after one, and how often that is
// looked at. No limit of the kernel's ends one that was taken over before it has had that of its whole life.
const (
	idleCPU  = 5 * time.Second
	idleLook = 2 * time.Second
)

// keeper keeps one place in the pool filled with a living child.
type keeper struct {
	pool    *Pool
	next    *worker // ready, not yet offered; nil if one has to be started
	backoff time.Duration
}

// run replaces children until the pool is closed.
func (k *keeper) run() {
	for k.pool.ctx.Err() == nil {
		w, err := k.start()
		if err != nil {
			k.rest(err)
			continue
		}
		if k.backoff > 0 {
			k.pool.failing.Add(-1)
			k.backoff = 0
		}
		k.offer(w)
		w.bury()
	}
	if k.next != nil {
		k.next.bury()
	}
}

// start returns the next child.
func (k *keeper) start() (*worker, error) {
	if w := k.next; w != nil {
		k.next = nil
		return w, nil
	}
	return k.pool.start()
}

// rest waits, longer each time. Meanwhile callers are told why, if no other
// place is better off.
func (k *keeper) rest(err error) {
	p := k.pool
	if p.ctx.Err() != nil {
		return
	}
	if k.backoff == 0 {
		p.failing.Add(1)
	}
	k.backoff = min(max(2*k.backoff, firstBackoff), maxBackoff)
	p.opts.Logger.Error("a decoder child does not start", "error", err, "again_in", k.backoff.String())
	timer := time.NewTimer(k.backoff)
	defer timer.Stop()
	broken := p.broken
	if p.failing.Load() < int64(p.opts.processes()) {
		broken = nil
	}
	for {
		select {
		case broken <- err:
		case <-timer.C:
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// offer hands the child to one caller after another, until it is used up and
// another is ready in its place, or it is dead, or the pool is closed.
func (k *keeper) offer(w *worker) {
	p := k.pool
	stop := context.AfterFunc(p.ctx, w.Kill)
	defer stop()
	var relief chan *worker
	defer func() {
		if relief != nil {
			k.next = <-relief
		}
	}()
	look := time.NewTicker(idleLook)
	defer look.Stop()
	rested, _ := w.CPUTime()
	for used, due := 0, p.opts.Recycle; ; {
		if used >= due && relief == nil {
			relief = k.relieve()
		}
		select {
		case p.idle <- w:
		case k.next = <-relief:
			relief = nil
			if k.next != nil {
				return
			}
			due = used + p.opts.Recycle
			continue
		case <-look.C:
			if now, err := w.CPUTime(); err == nil && now-rested > idleCPU {
				p.opts.Logger.Warn("a decoder child works without a file, and is replaced", "pid", w.Pid(), "cpu", (now - rested).String())
				p.opts.lost(LostIdle)
				return
			}
			continue
		case <-w.Done():
			p.opts.Logger.Warn("an idle decoder child died", "error", w.Err())
			p.opts.lost(LostIdle)
			return
		case <-p.ctx.Done():
			return
		}
		if healthy := <-w.returned; !healthy {
			return
		}
		used++
		rested, _ = w.CPUTime()
	}
}

// relieve starts another child, and sends it, or nil if it does not start: then
// this one serves as many files again.
func (k *keeper) relieve() chan *worker {
	ready := make(chan *worker, 1)
	go func() {
		w, err := k.pool.start()
		if err != nil && k.pool.ctx.Err() == nil {
			k.pool.opts.Logger.Error("a decoder child does not start, and the one it was to relieve serves on", "error", err)
		}
		ready <- w
	}()
	return ready
}

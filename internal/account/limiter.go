package account

import (
	"container/list"
	"errors"
	"net/netip"
	"sync"
	"time"
)

// LimiterOptions bounds a Limiter.
type LimiterOptions struct {
	Window  time.Duration // of counting
	Entries int           // keys remembered at the same time
	Now     func() time.Time
}

// DefaultLimiterOptions are one-minute windows for up to 100,000 keys: about
// 20 MB when all are in use.
func DefaultLimiterOptions() LimiterOptions {
	return LimiterOptions{Window: time.Minute, Entries: 100_000, Now: time.Now}
}

// Validate names the first field that makes no sense.
func (o LimiterOptions) Validate() error {
	switch {
	case o.Window <= 0:
		return errors.New("limiter: window must be positive")
	case o.Entries < 1:
		return errors.New("limiter: entries must be at least 1")
	case o.Now == nil:
		return errors.New("limiter: Now must be set")
	}
	return nil
}

// Decision is what a Limiter says of one request.
type Decision struct {
	Allowed   bool
	Limit     int           // requests in a window
	Remaining int           // after this one; 0 when refused
	Reset     time.Duration // to the window's end, in (0, Window]
}

// Limiter counts requests by key in fixed windows. A key's window begins with
// its first request and not with the minute of the clock: a client gets its
// full allowance from whenever it starts, and clients don't all come back in
// the same second. It is safe for concurrent use.
type Limiter struct {
	opts LimiterOptions

	mu      sync.Mutex
	windows map[string]*list.Element // of *window
	order   *list.List               // by start: the first one ends first
}

type window struct {
	key   string
	start time.Time
	count int
}

// NewLimiter starts with no window open. There is nothing to close.
func NewLimiter(opts LimiterOptions) (*Limiter, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Limiter{opts: opts, windows: make(map[string]*list.Element), order: list.New()}, nil
}

// Allow counts one request for key, of which limit are allowed in a window. A
// refused request does not prolong the window.
func (l *Limiter) Allow(key string, limit int) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Now()
	w := l.open(key, now)
	d := Decision{Limit: limit, Reset: l.opts.Window - now.Sub(w.start)}
	if w.count < limit {
		w.count++
		d.Allowed, d.Remaining = true, limit-w.count
	}
	return d
}

// open finds key's window, or begins one.
func (l *Limiter) open(key string, now time.Time) *window {
	if e, ok := l.windows[key]; ok {
		if w := e.Value.(*window); !l.over(w, now) {
			return w
		}
		l.remove(e)
	}
	l.makeRoom(now)
	w := &window{key: key, start: now}
	l.windows[key] = l.order.PushBack(w)
	return w
}

// over reports whether the window has ended. One that lies in the future has
// too: the clock was set back, and nobody should wait for it to catch up.
func (l *Limiter) over(w *window, now time.Time) bool {
	age := now.Sub(w.start)
	return age < 0 || age >= l.opts.Window
}

// makeRoom drops the windows that are over, and the oldest one if that leaves
// no room. Each window is dropped once, so a request pays for about one.
func (l *Limiter) makeRoom(now time.Time) {
	for e := l.order.Front(); e != nil; e = l.order.Front() {
		if !l.over(e.Value.(*window), now) && l.order.Len() < l.opts.Entries {
			return
		}
		l.remove(e)
	}
}

func (l *Limiter) remove(e *list.Element) {
	delete(l.windows, e.Value.(*window).key)
	l.order.Remove(e)
}

// AddressKey is the key of a client without an account: its IPv4 address, or
// the /64 network of its IPv6 address, since one client owns all of that.
func AddressKey(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr.String()
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return network.String()
}

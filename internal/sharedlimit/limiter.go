package sharedlimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"deepfaked/internal/account"
)

// Options is what a Limiter is made of.
type Options struct {
	Redis   redis.Scripter
	Prefix  string           // begins the keys: it keeps limiters that share a Redis apart; {a part} has all in one slot of a cluster
	Window  time.Duration    // of counting, as in Local; Redis counts milliseconds
	Local   *account.Limiter // counts too, and alone while Redis is away
	Timeout time.Duration    // of one question to Redis, for which a request waits
	Pause   time.Duration    // after a failure, before Redis is asked again
	Logger  *slog.Logger
	Away    func(bool) // told when Redis goes away, and when it is back; may be nil, and must not block
}

// DefaultOptions fills in all but the dependencies.
func DefaultOptions() Options {
	return Options{Prefix: "deepfaked:{rate}:", Window: time.Minute, Timeout: 250 * time.Millisecond, Pause: time.Second}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Redis == nil || o.Local == nil || o.Logger == nil:
		return errors.New("shared limiter: Redis, the local limiter and the logger must be set")
	case o.Prefix == "":
		return errors.New("shared limiter: prefix must be set")
	case o.Window < time.Millisecond:
		return errors.New("shared limiter: window must be at least a millisecond")
	case o.Timeout <= 0:
		return errors.New("shared limiter: timeout must be positive")
	case o.Pause <= 0:
		return errors.New("shared limiter: pause must be positive")
	}
	return nil
}

// Limiter answers as account.Limiter does, but counts what all processes with the
// same Redis and prefix have let through. It is safe for concurrent use.
type Limiter struct {
	opts Options

	mu   sync.Mutex
	away time.Time // of the last failure; zero: Redis answers
	back time.Time // when it was back last, or had forgotten; zero: it always knew all
	mark int64     // that Redis bears as long as it remembers; 0: not yet seen
}

// New asks Redis nothing yet: a service starts without it, too. There is nothing
// to close.
func New(opts Options) (*Limiter, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Limiter{opts: opts}, nil
}

// count is account.Limiter's window in Redis: it begins with the first request of
// a key, and a refused one does not prolong it. It answers whether the request is
// allowed, how many have been in the window, the milliseconds that are left
// of it, and the mark that Redis bears, which is ours where it bore none. More than a
// window is left when Redis' clock was put back: then another begins.
var count = redis.NewScript(`
local mark = redis.call('GET', KEYS[2])
if not mark then
  mark = ARGV[3]
  redis.call('SET', KEYS[2], mark)
end
mark = tonumber(mark)
local left = redis.call('PTTL', KEYS[1])
if left <= 0 or left > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[1], 0, 'PX', ARGV[2])
  left = tonumber(ARGV[2])
end
local n = tonumber(redis.call('GET', KEYS[1]))
if n >= tonumber(ARGV[1]) then
  return {0, n, left, mark}
end
return {1, redis.call('INCR', KEYS[1]), left, mark}`)

// memory is the key of the mark. No account or address is called so.
const memory = "memory"

// Allow counts one request for key, of which limit are allowed in a window over
// all processes. While Redis is away the count is this process's own, and for a window
// after that the lower allowance of the two holds.
func (l *Limiter) Allow(key string, limit int) account.Decision {
	local := l.opts.Local.Allow(key, limit) // in step, so that it can take over
	if l.resting() || !local.Allowed && l.returned() {
		return local
	}
	shared, err := l.ask(key, limit)
	if err != nil || shared.Allowed {
		l.report(err) // a refusal writes nothing, and a Redis that takes no writes gives it
	}
	if err != nil {
		return local
	}
	if less := !local.Allowed || local.Remaining < shared.Remaining; less && shared.Allowed && l.returned() {
		return local
	}
	return shared
}

// returned says that Redis was away or empty within this window, and may know nothing of what has been let
// through: then this process lets through no more than it would alone.
func (l *Limiter) returned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away.IsZero() && !l.back.IsZero() && time.Since(l.back) < l.opts.Window
}

// Look asks Redis as a request would, and so notes that it is away, or back, where there are
// no requests. It is to be called at the start and every few seconds. Each look counts, as one
// that is refused writes nothing, and a Redis that takes no writes answers it.
func (l *Limiter) Look() {
	_, err := l.ask("", math.MaxInt32)
	l.report(err)
}

func (l *Limiter) ask(key string, limit int) (account.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.opts.Timeout)
	defer cancel()
	keys, mark := []string{l.opts.Prefix + key, l.opts.Prefix + memory}, time.Now().UnixMicro()
	answer, err := count.Run(ctx, l.opts.Redis, keys, limit, l.opts.Window.Milliseconds(), mark).Int64Slice()
	if err != nil {
		return account.Decision{}, err
	}
	if len(answer) != 4 {
		return account.Decision{}, fmt.Errorf("redis answered %v", answer)
	}
	l.remember(answer[3])
	d := account.Decision{Allowed: answer[0] == 1, Limit: limit, Reset: time.Duration(answer[2]) * time.Millisecond}
	if d.Allowed {
		d.Remaining = limit - int(answer[1])
	}
	return d, nil
}

// remember notices by its mark that Redis has forgotten all, as one that was restarted between two
// requests has. That is said once in a window: two of them may answer in turn at one address.
func (l *Limiter) remember(mark int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mark != 0 && l.mark != mark {
		if time.Since(l.back) >= l.opts.Window {
			l.opts.Logger.Warn("redis has forgotten what was counted: for a while this process lets through no more than it would alone", "for", l.opts.Window.String())
		}
		l.back = time.Now()
	}
	l.mark = mark
}

// resting says that Redis failed a moment ago: requests don't wait for it one
// after the other.
func (l *Limiter) resting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.away.IsZero() && time.Since(l.away) < l.opts.Pause
}

// report remembers how Redis is, and tells an operator when that has changed.
func (l *Limiter) report(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if changed := (err != nil) == l.away.IsZero(); changed && l.opts.Away != nil {
		l.opts.Away(err != nil)
	}
	switch {
	case err != nil && l.away.IsZero():
		l.opts.Logger.Warn("redis is away: until it is back, requests are counted by this process alone", "error", err)
	case err == nil && !l.away.IsZero():
		l.opts.Logger.Info("redis is back: requests are counted for all processes together")
		l.back = time.Now()
	}
	l.away = time.Time{}
	if err != nil {
		l.away = time.Now()
	}
}

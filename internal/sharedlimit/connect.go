package sharedlimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Connect prepares a client for a redis://, rediss:// or unix:// address; it
// connects when it is first used. The caller closes it. What it says in an error has
// no password in it, and the parser's own words may. What all clients of the process say of their
// connections goes to the first logger, for whoever looks closer: that Redis is away is logged by the limiters.
func Connect(address string, logger *slog.Logger) (*redis.Client, error) {
	once.Do(func() { redis.SetLogger(words{logger}) })
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, errors.New("the address of the Redis can't be read: it must look like redis://USER:PASSWORD@HOST:PORT/DATABASE, the database being a number, " +
			"and in a name or password each of : / ? # [ ] @ % must be written as % and its code, such as %40 for @")
	}
	opts.ContextTimeoutEnabled = true // or a Redis that hangs would hold requests up
	opts.MaxRetries = -1              // the next request tries again
	opts.DisableIdentity = true
	return redis.NewClient(opts), nil
}

var once sync.Once

// words are the client's own, which it would write to standard error in a form of its own.
type words struct{ logger *slog.Logger }

// Printf implements the client's interface.
func (w words) Printf(ctx context.Context, format string, args ...any) {
	w.logger.DebugContext(ctx, "the client of Redis", "says", fmt.Sprintf(format, args...))
}

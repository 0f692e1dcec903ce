package sharedlimit

import (
	"errors"

	"github.com/redis/go-redis/v9"
)

// Connect prepares a client for a redis://, rediss:// or unix:// address; it
// connects when it is first used. The caller closes it. What it says in an error has
// no password in it, and the parser's own words may.
func Connect(address string) (*redis.Client, error) {
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

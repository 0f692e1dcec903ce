package sharedlimit

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Connect prepares a client for a redis://, rediss:// or unix:// address; it
// connects when it is first used. The caller closes it.
func Connect(address string) (*redis.Client, error) {
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of a Redis (redis://HOST:PORT/DATABASE): %w", address, err)
	}
	opts.ContextTimeoutEnabled = true // or a Redis that hangs would hold requests up
	opts.MaxRetries = -1              // the next request tries again
	opts.DisableIdentity = true
	return redis.NewClient(opts), nil
}

package main

import (
	"github.com/redis/go-redis/v9"

	"deepfaked/api"
	"deepfaked/internal/account"
	"deepfaked/internal/sharedlimit"
)

// limiters count the requests of accounts and of addresses: in memory, and in
// Redis for all processes where one is configured.
func (s *service) limiters() (accounts, addresses api.Limiter, err error) {
	var client *redis.Client
	if s.cfg.Redis != "" {
		if client, err = sharedlimit.Connect(s.cfg.Redis, s.logger); err != nil {
			return nil, nil, err
		}
		s.onClose(client.Close)
	}
	if accounts, err = s.limiter(client, "account"); err != nil {
		return nil, nil, err
	}
	addresses, err = s.limiter(client, "address")
	return accounts, addresses, err
}

func (s *service) limiter(client *redis.Client, counts string) (api.Limiter, error) {
	local, err := account.NewLimiter(account.DefaultLimiterOptions())
	if err != nil || client == nil {
		return local, err
	}
	opts := sharedlimit.DefaultOptions()
	if s.metrics != nil {
		opts.Away = s.metrics.Redis(counts)
	}
	opts.Redis, opts.Local, opts.Prefix = client, local, opts.Prefix+counts+":"
	opts.Logger = s.logger.With("redis", client.Options().Addr, "counts", counts)
	shared, err := sharedlimit.New(opts)
	if err != nil {
		return nil, err
	}
	s.limits = append(s.limits, shared)
	return shared, nil
}

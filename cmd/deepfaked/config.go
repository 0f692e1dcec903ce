package main

import (
	"context"

	"deepfaked/internal/config"
	"deepfaked/internal/redact"
)

type configCommand struct{ serveFlags }

func (c *configCommand) run(_ context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	for _, address := range []*string{&cfg.Database, &cfg.Redis, &cfg.Uploads} {
		*address = redact.Text(*address) // what is printed ends in tickets and logs
	}
	return config.Write(to.out, cfg)
}

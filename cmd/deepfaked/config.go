package main

import (
	"context"

	"deepfaked/internal/config"
)

type configCommand struct{ serveFlags }

func (c *configCommand) run(_ context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	return config.Write(to.out, cfg)
}

package main

import (
	"context"

	"github.com/goccy/go-yaml"
)

type configCommand struct{ serveFlags }

func (c *configCommand) run(_ context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	return yaml.NewEncoder(to.out).Encode(cfg)
}

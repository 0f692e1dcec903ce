package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"deepfaked/internal/config"
)

// healthCommand is the probe of a container, in whose image there need be no
// other program that asks. It reads the service's own settings, so that it asks
// where that answers.
type healthCommand struct {
	configFlags
	Listen  *string       `env:"DEEPFAKED_LISTEN" placeholder:"ADDR" help:"Where the service listens (default: ${listen})."`
	Admin   *string       `env:"DEEPFAKED_ADMIN" placeholder:"ADDR" help:"Where it listens for administration, which is asked first (default: none)."`
	Timeout time.Duration `default:"3s" help:"How long to wait for the answer."`
}

func (c *healthCommand) settings() (config.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return cfg, err
	}
	set(&cfg.Listen, c.Listen)
	set(&cfg.Admin, c.Admin)
	return cfg, check(cfg)
}

// run fails unless the service says that it is ready.
func (c *healthCommand) run(ctx context.Context, _ streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	address := cfg.Listen
	if cfg.Admin != "" {
		address = cfg.Admin
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	return askReady(ctx, near(address))
}

// near is an address at which this machine reaches what listens on address.
func near(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && ip == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case err == nil && ip.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

// askReady asks on a connection of its own, past every proxy.
func askReady(ctx context.Context, address string) error {
	ready := url.URL{Scheme: "http", Host: address, Path: "/readyz"} // which writes the zone of an address as URLs have it
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, ready.String(), nil)
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return fmt.Errorf("health: %s does not answer: %w", address, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // whatever came of it is shown
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("health: %s answered %s: %s", address, answer.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

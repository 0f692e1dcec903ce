package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"deepfaked/internal/footprint"
	"deepfaked/internal/load"
)

// step is what one load came to.
type step struct {
	plan   load.Plan
	result *load.Result
}

// run measures and reports. A second signal ends it at once.
func (c *cli) run(ctx context.Context, stdout, stderr io.Writer) error {
	plans, err := c.plans()
	if err != nil {
		return usageError{err}
	}
	files, err := gather(c.Files, stderr)
	if err != nil {
		return usageError{err}
	}
	mix, err := newMix(files, c.Mix, c.Seed)
	if err != nil {
		return usageError{err}
	}
	s, err := c.server(mix)
	if err != nil {
		return usageError{err}
	}
	defer s.close()
	if err := c.prepare(); err != nil {
		return usageError{err}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithTimeout(ctx, c.limit(plans))
	defer cancel()
	if err := c.probe(ctx, s); err != nil {
		return err
	}
	steps, err := measure(ctx, plans, s.next, stderr)
	return errors.Join(err, c.report(steps, files, stdout, stderr), verdict(ctx, steps))
}

// probe asks the server once. Where the time for that runs out, it says which.
func (c *cli) probe(ctx context.Context, s server) error {
	bounded, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	err := s.probe(bounded)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return errors.New("the time limit ended it (--limit) before the server had answered")
	case ctx.Err() != nil:
		return errors.New("interrupted before the server had answered")
	case bounded.Err() != nil:
		return fmt.Errorf("the server can't be measured: it gave no answer within %v (--timeout)", c.Timeout)
	}
	return err
}

// server is what gets the load.
type server interface {
	probe(ctx context.Context) error // tells what can't be measured
	next() load.Call
	close()
}

func (c *cli) server(m *mix) (server, error) {
	// No proxy: what is measured is the server that was named, and nothing else
	// may get the load.
	transport := &http.Transport{
		MaxIdleConnsPerHost: max(c.Connections, c.Clients, c.Burst), IdleConnTimeout: time.Minute,
		ExpectContinueTimeout: time.Second, DisableCompression: true,
	}
	switch {
	case c.Post == "" && c.Key == "":
		return nil, errors.New("the API key must be set, with --key or DEEPFAKED_KEY")
	case c.Post == "":
		return newService(c.URL, c.Key, c.Mode, m, transport)
	case c.Mode != modeSync:
		return nil, errors.New("--post is for synchronous requests; leave --mode out")
	}
	return newTarget(c, m, transport)
}

// prepare finds out what can't be written before the long wait, not after it.
func (c *cli) prepare() error {
	if c.PID != 0 {
		if _, err := footprint.Read(c.PID); err != nil {
			return err
		}
	}
	if c.JSON != "" && c.JSON != "-" {
		if err := writable(c.JSON); err != nil {
			return err
		}
	}
	if c.Plots != "" {
		return makeFolder(c.Plots)
	}
	return nil
}

// makeFolder makes a folder, and shows that files can be made in it.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o750); err != nil {
		return err
	}
	probe, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// writable says why a file can't be written. It leaves what is there as it is, be it
// nothing.
func writable(path string) error {
	_, before := os.Lstat(path) // a link stays, wherever it leads
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	err = f.Close()
	if errors.Is(before, fs.ErrNotExist) {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// measure puts one load after the other on the source, until the server is gone.
func measure(ctx context.Context, plans []load.Plan, source load.Source, stderr io.Writer) (steps []step, err error) {
	for _, p := range plans {
		_, _ = fmt.Fprintf(stderr, "deepfaked-bench: %s\n", announcement(p))
		r, err := load.Run(ctx, p, source)
		if err != nil {
			return steps, err
		}
		steps = append(steps, step{p, r})
		if r.Interrupted || r.Silenced() {
			break
		}
	}
	return steps, nil
}

func announcement(p load.Plan) string {
	if p.Burst > 0 {
		return fmt.Sprintf("a burst of %s after a warm-up of %v", count(p.Burst, "request"), p.Warmup)
	}
	return fmt.Sprintf("%s: a warm-up of %v, then up to %d windows of %v", named(p), p.Warmup, p.Windows, p.Window)
}

// named is the load in a few words.
func named(p load.Plan) string {
	switch {
	case p.Burst > 0:
		return fmt.Sprintf("burst of %d", p.Burst)
	case p.Clients > 0:
		return count(p.Clients, "client")
	}
	return fmt.Sprintf("%g/s", p.Rate)
}

// meter reads the tree of a process.
func meter(pid int) load.Meter {
	return func() (load.Reading, error) {
		u, err := footprint.Read(pid)
		return load.Reading{CPU: u.CPU, Memory: u.Memory}, err
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"deepfaked/internal/config"
)

type serveCommand struct{ serveFlags }

// workerCommand is serve without its address.
type workerCommand struct{ workFlags }

// serveFlags are those of serve, and of config, which shows what they make.
type serveFlags struct {
	workFlags
	reportKeyFlag
	Listen *string `env:"DEEPFAKED_LISTEN" placeholder:"ADDR" help:"host:port to serve on; port 0 takes a free one, which the first log line names (default: ${listen})."`
}

// workFlags are those of a process that judges.
type workFlags struct {
	configFlags
	booksFlags
	engineFlags
	priorFlag
	Log         logFlags       `embed:"" prefix:"log-"`
	Admin       *string        `env:"DEEPFAKED_ADMIN" placeholder:"ADDR" help:"host:port of metrics, probes and profiles, for those who run the service only; port 0 takes a free one (default: none)."`
	Workers     *int           `env:"DEEPFAKED_WORKERS" placeholder:"N" help:"Jobs analysed at the same time, and a quarter as many films beside them; 0 accepts jobs and leaves them to other processes, or to a later start (default: four for each core, ${workers} here)."`
	Uploads     *string        `env:"DEEPFAKED_UPLOADS" placeholder:"URL" help:"Where the uploads of jobs wait: file:///DIR, s3://BUCKET, gs://BUCKET or azblob://CONTAINER, with options as gocloud.dev documents them (default: file://, the data folder)."`
	Redis       *string        `env:"DEEPFAKED_REDIS" placeholder:"URL" help:"Redis in which several processes count requests together, redis://HOST:PORT/DATABASE (default: each counts its own)."`
	Deadline    *time.Duration `env:"DEEPFAKED_DEADLINE" placeholder:"TIME" help:"Longest analysis that a client waits for (default: ${deadline})."`
	Drain       *time.Duration `env:"DEEPFAKED_DRAIN" placeholder:"TIME" help:"How long what still runs may go on when the service is told to stop (default: ${drain})."`
	Adopt       bool           `name:"adopt-uploads" env:"DEEPFAKED_ADOPT_UPLOADS" help:"Have uploads wait in this place from now on, although those of jobs that wait are in another one, or other processes use that: those jobs fail (default: such a start is refused)."`
	KeepUploads *bool          `name:"keep-uploads" env:"DEEPFAKED_KEEP_UPLOADS" help:"Keep every upload whose analysis began in the data folder, also where it failed (default: uploads are deleted)."`
}

func (c *serveFlags) settings() (config.Config, error) {
	cfg, err := c.laid()
	if err != nil {
		return cfg, err
	}
	set(&cfg.ReportKey, c.ReportKey)
	set(&cfg.Listen, c.Listen)
	return cfg, check(cfg)
}

func (c *workFlags) settings() (config.Config, error) {
	cfg, err := c.laid()
	if err != nil {
		return cfg, err
	}
	return cfg, check(cfg)
}

// laid is the file with the flags over it, not checked yet.
func (c *workFlags) laid() (config.Config, error) {
	cfg, err := c.load()
	if err != nil {
		return cfg, err
	}
	c.engineFlags.lay(&cfg)
	c.priorFlag.lay(&cfg)
	set(&cfg.Log.Level, c.Log.Level)
	set(&cfg.Log.Format, c.Log.Format)
	set(&cfg.Admin, c.Admin)
	c.booksFlags.lay(&cfg)
	set(&cfg.Jobs.Workers, c.Workers)
	set(&cfg.Uploads, c.Uploads)
	set(&cfg.Redis, c.Redis)
	set(&cfg.Deadline, c.Deadline)
	set(&cfg.Drain, c.Drain)
	set(&cfg.KeepUploads, c.KeepUploads)
	cfg.Adopt = c.Adopt
	return cfg, nil
}

// run serves until it is told to stop.
func (c *serveCommand) run(ctx context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	return runService(ctx, cfg, true, to)
}

// run runs jobs as serve does.
func (c *workerCommand) run(ctx context.Context, to streams) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	if cfg.Jobs.Workers == 0 {
		return usageError{errors.New("a worker with 0 jobs at the same time would do nothing: set --workers to at least 1")}
	}
	if cfg.Database == "" {
		return usageError{errors.New("a worker runs the jobs of a database that it shares with other processes: name it with --database or DEEPFAKED_DATABASE")}
	}
	return runService(ctx, cfg, false, to)
}

// hangUp is the signal that the terminal has ended, unless the service was started not to
// care.
func hangUp() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return nil
	}
	return []os.Signal{syscall.SIGHUP}
}

// runService runs a service until ctx ends or the process is told to stop; without
// http it runs jobs alone. A second signal ends the process at once.
func runService(ctx context.Context, cfg config.Config, http bool, to streams) error {
	ctx, restore := signal.NotifyContext(ctx, append(hangUp(), os.Interrupt, syscall.SIGTERM)...)
	defer restore()
	defer context.AfterFunc(ctx, restore)()
	if to.err == os.Stderr {
		endAtLast(ctx, cfg.Drain)
	}
	// Whoever reads the log may end: a line that goes nowhere is no reason to. And a terminal
	// that ends says so twice, once by its shell.
	signal.Notify(make(chan os.Signal, 1), append(hangUp(), syscall.SIGPIPE)...)
	logger := newLogger(to.err, cfg.Log)
	s, err := newService(ctx, cfg, http, logger)
	if err != nil {
		return err
	}
	// Scripts read the address here, whatever else is to be logged.
	told := newLogger(to.err, config.Log{Level: "info", Format: cfg.Log.Format})
	if http {
		told.Info("listening", "address", s.server.Addr().String())
	}
	if s.admin != nil {
		told.Info("listening for administration", "address", s.admin.Addr().String())
	}
	logger.Info("storage", "database", s.books.Name(), "uploads", placeOf(cfg))
	err = s.serve(ctx)
	if err = errors.Join(err, s.Close()); err == nil {
		logger.Info("stopped")
	}
	return err
}

// settling is how long a service may take to end in order after its drain time: longer than jobs
// that are cut short, requests that won't stop and a database that does not answer, and shorter
// than the half minute after which the unit for systemd and the Helm chart have it killed.
const settling = 25 * time.Second

// endAtLast ends the process some time after ctx and the drain time where it has not ended by
// itself, as what writes to a pipe that is full waits for whoever reads the log. The sentence that
// says so waits for a second.
func endAtLast(ctx context.Context, drain time.Duration) {
	context.AfterFunc(ctx, func() {
		time.AfterFunc(drain+settling-time.Second, func() {
			time.AfterFunc(time.Second, func() { os.Exit(exitFailed) })
			_, _ = fmt.Fprintln(os.Stderr, "deepfaked: the service did not end in order after its drain time, and is ended: jobs that are not done are taken up again")
		})
	})
}

// newLogger writes to w. The configuration has been validated.
func newLogger(w io.Writer, cfg config.Log) *slog.Logger {
	opts := &slog.HandlerOptions{}
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.Level)) == nil {
		opts.Level = level
	}
	if cfg.Format == "text" {
		return slog.New(slog.NewTextHandler(w, opts))
	}
	return slog.New(slog.NewJSONHandler(w, opts))
}

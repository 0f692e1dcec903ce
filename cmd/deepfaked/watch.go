package main

import (
	"context"
	"errors"

	"deepfaked/api"
	"deepfaked/internal/admin"
	"deepfaked/internal/job"
	"deepfaked/internal/metrics"
)

// books are the ledger as requests and jobs see it.
type books interface {
	api.Accounts
	job.Books
}

// watchedBooks is the ledger, and tells the metrics of what it does where there
// are any.
func (s *service) watchedBooks() books {
	if s.metrics == nil {
		return s.ledger
	}
	return s.metrics.Books(s.ledger)
}

func (s *service) watchJobs(opts job.Options) job.Options {
	if s.metrics != nil {
		opts.Observer = s.metrics
	}
	return opts
}

func (s *service) watchServer(opts api.Options) api.Options {
	if s.metrics != nil {
		opts.Observer = s.metrics
	}
	return opts
}

// openAdmin binds the address for administration, if there is one. It is closed
// after everything that it is asked about has come to its end, and before the
// books are.
func (s *service) openAdmin(ctx context.Context) (err error) {
	if s.metrics == nil {
		return nil
	}
	ready := func() error {
		if ctx.Err() != nil {
			return errors.New("the service is stopping")
		}
		return s.ready()
	}
	s.metrics.Watch(metrics.Sources{
		Ready: ready, Rows: s.judge.waiting, Jobs: s.jobs.Waiting, Spool: s.uploads.Usage, Provider: s.judge.provider,
	})
	s.admin, err = admin.Open(admin.Options{
		Listen: s.cfg.Admin, Metrics: s.metrics.Handler(s.logger), Ready: ready, Healthy: s.judge.healthy, Logger: s.logger,
	})
	if err != nil {
		return listening(err, s.cfg.Admin, "--admin")
	}
	s.onClose(s.admin.Close)
	return nil
}

// waiting is how many rows wait for a batch.
func (l *late) waiting() int {
	if e := l.engine.Load(); e != nil {
		return e.scheduler.Waiting()
	}
	return 0
}

// provider is ONNX Runtime's execution provider; empty before there is one.
func (l *late) provider() string {
	if e := l.engine.Load(); e != nil {
		return e.provider
	}
	return ""
}

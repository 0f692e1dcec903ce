package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/admin"
	"deepfaked/internal/config"
	"deepfaked/internal/job"
	"deepfaked/internal/metrics"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/models"
)

// service is one server with all that it needs, but for the engine, which takes
// seconds to start and is loaded while the address is bound already.
type service struct {
	cfg     config.Config
	logger  *slog.Logger
	books   *store.Store
	ledger  *account.Ledger
	judge   *late
	jobs    *job.Runner
	uploads *spool.Spool
	server  *api.Server
	metrics *metrics.Metrics // nil without an address for administration
	admin   *admin.Server    // likewise
	closers
}

// closers end what was opened, in reverse order.
type closers []func() error

func (c *closers) onClose(fn func() error) { *c = append(*c, fn) }

// Close is idempotent.
func (c *closers) Close() error {
	var errs []error
	for i := range slices.Backward(*c) {
		errs = append(errs, (*c)[i]())
	}
	*c = nil
	return errors.Join(errs...)
}

// late is a detector that may not be there yet.
type late struct{ engine atomic.Pointer[engine] }

// Detect implements api.Detector.
func (l *late) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	if e := l.engine.Load(); e != nil {
		return e.detector.Detect(ctx, r)
	}
	return inference.Result{}, errors.New("the models are not loaded")
}

// cards are those of the models in use.
func (l *late) cards() []models.Card {
	if e := l.engine.Load(); e != nil {
		return e.cards
	}
	return nil
}

// newService opens the books and binds the address. The caller closes it.
func newService(ctx context.Context, cfg config.Config, logger *slog.Logger) (_ *service, err error) {
	s := &service{cfg: cfg, logger: logger, judge: &late{}}
	if cfg.Admin != "" {
		s.metrics = metrics.New()
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.openBooks(ctx); err != nil {
		return nil, err
	}
	if err := checkFolder(cfg); err != nil {
		return nil, err
	}
	if s.uploads, err = spool.New(spoolOptions(cfg)); err != nil {
		return nil, err
	}
	jobFiles, err := s.openUploads(ctx)
	if err != nil {
		return nil, err
	}
	limiter, addresses, err := s.limiters()
	if err != nil {
		return nil, err
	}
	books := s.watchedBooks()
	s.jobs, err = job.New(ctx, job.Deps{
		Detector: s.judge, Books: books, Store: s.books, Uploads: jobFiles, Sentence: api.Sentence, Logger: logger,
	}, s.watchJobs(jobOptions(cfg)))
	if err != nil {
		return nil, err
	}
	opts := s.watchServer(serverOptions(cfg))
	opts.Detector, opts.Accounts, opts.Jobs = s.judge, books, s.jobs
	opts.Limiter, opts.Addresses = limiter, addresses
	opts.Spool, opts.Logger, opts.Models = s.uploads, logger, s.judge.cards
	if s.server, err = api.New(opts); err != nil {
		return nil, errors.Join(err, s.jobs.Close(ctx))
	}
	if err := s.openAdmin(ctx); err != nil {
		return nil, errors.Join(err, s.server.Shutdown(ctx), s.jobs.Close(ctx))
	}
	return s, nil
}

// openBooks opens the database for this process alone, and ends what an earlier
// process left unfinished.
func (s *service) openBooks(ctx context.Context) error {
	release, err := store.Claim(s.cfg.Data)
	if err != nil {
		return err
	}
	s.onClose(release)
	if s.books, err = store.Open(ctx, s.cfg.Data, store.DefaultOptions()); err != nil {
		return err
	}
	s.onClose(s.books.Close)
	s.ledger, err = account.New(s.books, ledgerOptions(s.cfg))
	return err
}

func spoolOptions(cfg config.Config) spool.Options {
	opts := spool.Options{Dir: filepath.Join(cfg.Data, "spool"), Park: jobsFolder(cfg), Capacity: int64(cfg.Upload.Spool)}
	if cfg.KeepUploads {
		opts.Keep = filepath.Join(cfg.Data, "uploads")
	}
	return opts
}

func jobOptions(cfg config.Config) job.Options {
	opts := job.DefaultOptions()
	opts.Workers, opts.Queue = cfg.Jobs.Workers, cfg.Jobs.Queue
	opts.Attempts, opts.Deadline = cfg.Jobs.Attempts, cfg.Jobs.Deadline
	opts.Shared = cfg.Uploads != ownFolder
	return opts
}

func serverOptions(cfg config.Config) api.Options {
	opts := api.DefaultOptions()
	opts.Listen, opts.TrustedProxies = cfg.Listen, cfg.Proxies
	opts.FileBytes, opts.FormBytes = int64(cfg.Upload.Size), int64(cfg.Upload.Form)
	opts.Uploads, opts.UploadsPerAccount = cfg.Upload.Parallel, cfg.Upload.ParallelPerAccount
	opts.Pace.Idle, opts.Pace.Rate = cfg.Upload.IdleTimeout, int64(cfg.Upload.MinimumRate)
	opts.AddressPerMinute = cfg.Anonymous.RequestsPerMinute
	opts.SyncDeadline, opts.Drain = cfg.Deadline, cfg.Drain
	return opts
}

// serve answers requests until ctx ends, and then lets what runs come to its
// end within the drain time.
func (s *service) serve(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { s.start(running) })
	background.Go(func() { s.retain(running) })
	background.Go(func() { s.repay(running) })
	ended := make(chan time.Time, 1)
	defer context.AfterFunc(ctx, func() {
		ended <- time.Now()
		s.logger.Info("stopping", "drain", s.cfg.Drain.String())
	})()
	err := s.server.Serve(ctx)
	stop()
	background.Wait()
	left := s.cfg.Drain
	if ctx.Err() != nil {
		left -= time.Since(<-ended)
	}
	s.finish(left)
	return err
}

// finish lets jobs run for what the requests have left of the drain time.
func (s *service) finish(left time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max(left, 0))
	defer cancel()
	if err := s.jobs.Close(ctx); err != nil {
		s.logger.Warn("the drain time was over before all jobs were done; they are taken up again at the next start", "error", err)
	}
}

// start ends what an earlier process left behind, loads the engine and declares
// the service ready, or says why it is not.
func (s *service) start(ctx context.Context) {
	began := time.Now()
	e, err := s.open(ctx)
	switch {
	case ctx.Err() != nil: // told to stop meanwhile
	case err != nil:
		s.logger.Error("not ready", "error", err)
		s.server.SetReady(errors.New("the analysis could not be started; the log of the service says why"))
	default:
		s.judge.engine.Store(e)
		if err := s.jobs.Start(ctx); err != nil {
			s.logger.Error("not ready", "error", err)
			s.server.SetReady(errors.New("the jobs could not be started; the log of the service says why"))
			return
		}
		s.server.SetReady(nil)
		s.logger.Info("ready", "provider", e.provider, "after", time.Since(began).Round(time.Millisecond).String())
	}
}

func (s *service) open(ctx context.Context) (*engine, error) {
	n, err := s.ledger.Recover(ctx)
	if err != nil {
		return nil, err
	}
	if n > 0 {
		s.logger.Warn("ended detections whose clients an earlier process left without an answer", "detections", n)
	}
	e, err := openEngine(ctx, s.cfg, s.logger, s.metrics)
	if err != nil {
		return nil, err
	}
	s.onClose(e.Close)
	return e, nil
}

// retain deletes results and kept uploads whose time has come.
func (s *service) retain(ctx context.Context) {
	ticker := time.NewTicker(s.cfg.Retention.Interval)
	defer ticker.Stop()
	for {
		n, err := s.ledger.Purge(ctx, s.cfg.Retention.Results)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.logger.Error("results could not be deleted", "error", err)
		case n > 0:
			s.logger.Info("deleted results whose time was over", "detections", n)
		}
		switch n, err := s.uploads.Purge(s.cfg.Retention.Results); {
		case err != nil:
			s.logger.Error("kept uploads could not be deleted", "error", err)
		case n > 0:
			s.logger.Info("deleted kept uploads whose time was over", "files", n)
		}
		if _, err := s.jobs.Sweep(ctx); err != nil && ctx.Err() == nil {
			s.logger.Error("uploads that no job needs could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// repayEvery is how soon a place comes back to its account after a database that
// could not be written to works again.
const repayEvery = 5 * time.Second

// repay gives back the places that the database would not take back at first, and
// removes the uploads that their store did not let go.
func (s *service) repay(ctx context.Context) {
	ticker := time.NewTicker(repayEvery)
	defer ticker.Stop()
	for before := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if n, _ := s.jobs.Clear(ctx); n > 0 { // that it could not be has been said
			s.logger.Info("removed uploads that could not be removed when their analysis ended", "uploads", n)
		}
		left, err := s.ledger.Retry(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && left != before:
			s.logger.Error("the ends of detections could not be written down; that is tried again", "detections", left, "error", err)
		case err == nil && before > 0:
			s.logger.Info("wrote down the ends of detections that had failed to be", "detections", before)
		}
		before = left
	}
}

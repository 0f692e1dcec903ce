package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"deepfaked/api"
	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/account"
	"deepfaked/internal/admin"
	"deepfaked/internal/config"
	"deepfaked/internal/job"
	"deepfaked/internal/metrics"
	"deepfaked/internal/report"
	"deepfaked/internal/sharedlimit"
	"deepfaked/internal/spool"
	"deepfaked/internal/store"
	"deepfaked/models"
)

// service is one process that judges, with all that it needs, but for the engine,
// which takes seconds to start and is loaded while the address is bound already.
type service struct {
	cfg     config.Config
	logger  *slog.Logger
	books   *store.Store
	ledger  *account.Ledger
	judge   *late
	jobs    *job.Runner
	uploads *spool.Spool
	process *store.Process
	limits  []*sharedlimit.Limiter // none without Redis
	server  *api.Server            // nil where only jobs are run
	signer  *report.Signer         // likewise
	metrics *metrics.Metrics       // nil without an address for administration
	admin   *admin.Server          // likewise
	unready atomic.Value           // of an unreadiness
	astray  atomic.Bool            // the database is not where it was opened
	telling sync.Mutex             // held while the server is told whether the service is ready
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

// late is a detector that may not be there yet, and may cease to work.
type late struct {
	engine atomic.Pointer[engine]
	doubts chan struct{} // holds one while the engine is to be tested
	out    atomic.Bool   // it fails its test
}

// Detect implements api.Detector.
func (l *late) Detect(ctx context.Context, r inference.Request) (inference.Result, error) {
	e, out := l.engine.Load(), l.out.Load()
	if e == nil {
		return inference.Result{}, errors.New("the models are not loaded")
	}
	result, err := e.detector.Detect(ctx, r)
	return result, l.doubted(err, out)
}

// inUse is what judges, nothing before it is there.
func (l *late) inUse() models.InUse {
	if e := l.engine.Load(); e != nil {
		return e.inUse
	}
	return models.InUse{}
}

// newService opens the books and, with http, binds the address. The caller closes
// it.
func newService(ctx context.Context, cfg config.Config, http bool, logger *slog.Logger) (_ *service, err error) {
	s := &service{cfg: cfg, logger: logger, judge: &late{doubts: make(chan struct{}, 1)}}
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
	if http {
		if s.signer, err = openSigner(ctx, cfg, s.books); err != nil {
			return nil, err
		}
	}
	books := s.watchedBooks()
	s.jobs, err = job.New(ctx, job.Deps{
		Detector: s.judge, Books: books, Store: s.books, Process: s.process, Uploads: jobFiles, Sentence: api.Sentence, Logger: logger,
	}, s.watchJobs(jobOptions(cfg)))
	if err != nil {
		return nil, fmt.Errorf("open the jobs, whose uploads wait in %s: %w", placeOf(cfg), err)
	}
	if http {
		err = s.bind(books)
	}
	if err == nil {
		err = s.openAdmin(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.jobs.Close(ctx))
	}
	return s, nil
}

// bind makes the server, which has its address then.
func (s *service) bind(books books) (err error) {
	opts := s.watchServer(serverOptions(s.cfg))
	if opts.Limiter, opts.Addresses, err = s.limiters(); err != nil {
		return err
	}
	opts.Detector, opts.Accounts, opts.Jobs = s.judge, books, s.jobs
	opts.Spool, opts.Logger, opts.Models = s.uploads, s.logger, s.judge.inUse
	opts.Signer = s.signer
	s.server, err = api.New(opts)
	return listening(err, s.cfg.Listen, "--listen")
}

// listening words an address that is in use, of which err says twice that it is so; the flag
// names another one.
func listening(err error, address, flag string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is already in use: stop the program that listens there, or name another address with %s", address, flag)
	}
	return err
}

// openBooks opens the database, that of a folder for this process alone, and
// enters the process.
func (s *service) openBooks(ctx context.Context) error {
	opts := storeOptions(s.cfg)
	if opts.Database == "" {
		release, err := store.Claim(s.cfg.Data)
		if err != nil {
			return err
		}
		s.onClose(release)
	}
	var err error
	if s.books, err = store.Open(ctx, s.cfg.Data, opts); err != nil {
		return err
	}
	s.onClose(s.books.Close)
	if s.process, err = s.books.Join(ctx, s.logger); err != nil {
		return err
	}
	s.onClose(func() error {
		if err := s.process.Leave(); err != nil {
			s.logger.Warn("others will see only by its silence that this process has ended", "error", err)
		}
		return nil
	})
	books := ledgerOptions(s.cfg)
	books.Process, books.Now, books.Alone = s.process, s.process.Now, opts.Database == ""
	s.ledger, err = account.New(s.books, books)
	return err
}

func storeOptions(cfg config.Config) store.Options {
	opts := store.DefaultOptions()
	opts.Database = cfg.Database
	return opts
}

// uploadsInMemory is how much memory uploads may take before they go to the disk: 32 MiB
// for each core, since more of them wait where more are judged. One that is written to the disk,
// and its hash taken, only to be refused takes what others would be judged with.
func uploadsInMemory(cores int) int64 { return int64(max(2, cores)) * 32 << 20 }

func spoolOptions(cfg config.Config) spool.Options {
	return spool.Options{
		Dir: filepath.Join(cfg.Data, "spool"), Park: jobsFolder(cfg), Capacity: int64(cfg.Upload.Spool),
		Kept: filepath.Join(cfg.Data, "uploads"), Keep: cfg.KeepUploads, Names: account.DetectionPrefix,
		Memory: uploadsInMemory(ort.Cores()),
	}
}

func jobOptions(cfg config.Config) job.Options {
	opts := job.DefaultOptions()
	opts.Workers, opts.Queue = cfg.Jobs.Workers, cfg.Jobs.Queue
	opts.Attempts, opts.Deadline = cfg.Jobs.Attempts, cfg.Jobs.Deadline
	opts.Shared, opts.Adopt = cfg.Uploads != ownFolder, cfg.Adopt
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

package api

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"deepfaked/internal/httplog"
	"deepfaked/internal/job"
)

// Reasons for SetReady.
var (
	ErrStarting   = errors.New("it is loading its models")                              // of a service that has just begun
	ErrNotStarted = errors.New("could not be started; the log of the service says why") // the end of one where no retry will help
)

var errGone = errors.New("the client has gone")

// Server answers HTTP requests. All its methods are safe for concurrent use.
type Server struct {
	opts     Options
	http     *http.Server
	listener net.Listener
	uploads  uploads
	unready  atomic.Pointer[error]
	active   sync.WaitGroup // requests
	stop     context.CancelCauseFunc
	stopped  chan struct{} // closed once Shutdown has ended
	once     sync.Once
	err      error // of Shutdown
}

// New binds the listener, so that Addr is known and early clients wait instead
// of being refused. The server isn't ready until SetReady(nil). The caller
// calls Serve, or Shutdown to give the address back.
func New(opts Options) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	base, stop := context.WithCancelCause(context.Background())
	s := &Server{
		opts: opts, stop: stop, stopped: make(chan struct{}),
		uploads: uploads{by: map[string]int{}},
	}
	s.SetReady(ErrStarting)
	routes, err := s.routes()
	if err != nil {
		stop(err)
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(base, "tcp", opts.Listen)
	if err != nil {
		stop(err)
		return nil, fmt.Errorf("listen on %s: %w", opts.Listen, err)
	}
	s.listener = bounded(listener, opts)
	s.http = &http.Server{
		Handler:           s.counted(routes),
		ReadHeaderTimeout: opts.ReadHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          httplog.New(opts.Logger),
		BaseContext:       func(net.Listener) context.Context { return base },
		// OPTIONS * is for the routes to answer, with the headers of every answer.
		DisableGeneralOptionsHandler: true,
	}
	return s, nil
}

// counted lets Shutdown wait for requests whose connection is already closed.
func (s *Server) counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.active.Add(1)
		defer s.active.Done()
		next.ServeHTTP(w, r)
	})
}

// Addr is the address bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// SetReady says whether submissions can be judged: nil when they can, else why
// not. The reason is shown by /readyz and to submissions, so it must be safe to show.
func (s *Server) SetReady(reason error) {
	if reason == nil {
		s.unready.Store(nil)
		return
	}
	s.unready.Store(&reason)
}

// Ready returns nil when submissions can be judged, and else the reason that
// SetReady was given.
func (s *Server) Ready() error {
	if reason := s.unready.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Serve answers requests until ctx ends or Shutdown is called, and returns when
// the last request has ended. When ctx ends, or no more connections can be
// accepted, requests have Options.Drain to finish. An orderly end is nil.
func (s *Server) Serve(ctx context.Context) error {
	drain := func() error {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Drain)
		defer cancel()
		return s.Shutdown(bounded)
	}
	defer context.AfterFunc(ctx, func() { _ = drain() })() // Serve returns its error
	err := s.http.Serve(s.listener)
	if errors.Is(err, http.ErrServerClosed) {
		<-s.stopped
		return s.err
	}
	return errors.Join(fmt.Errorf("serve: %w", err), drain())
}

// Shutdown stops accepting, so that probes fail too, and waits for running
// requests until ctx ends. Those that still run are then told to stop, and
// answer that the service is shutting down; what they had reserved is released.
// The error says that some would not stop. Only the first call counts; others
// wait for it.
func (s *Server) Shutdown(ctx context.Context) error {
	s.once.Do(func() {
		defer close(s.stopped)
		s.err = s.shutdown(ctx)
	})
	<-s.stopped
	return s.err
}

func (s *Server) shutdown(ctx context.Context) error {
	defer s.stop(job.ErrClosed)
	// A listener that was never served is not known to the HTTP server.
	defer func() { _ = s.listener.Close() }()
	if s.http.Shutdown(ctx) == nil {
		return nil
	}
	s.stop(job.ErrClosed)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
	defer cancel()
	if s.http.Shutdown(grace) == nil {
		return nil
	}
	_ = s.http.Close()
	return s.await(s.opts.Grace)
}

// await waits for requests whose connection has been closed on them.
func (s *Server) await(d time.Duration) error {
	done := make(chan struct{})
	go func() { s.active.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(d):
		return errors.New("shutdown: some requests did not stop")
	}
}

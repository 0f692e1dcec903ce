package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof" // it registers in the default mux, too, which nobody serves
	"time"

	"deepfaked/internal/httplog"
)

// Options is what a Server is made of.
type Options struct {
	Listen  string       // address; port 0 lets the system choose
	Metrics http.Handler // answers /metrics
	Ready   func() error // nil when work can be done, else why not; shown by /readyz
	Healthy func() error // nil unless only a restart may help; shown by /healthz
	Logger  *slog.Logger
}

// Validate names what is missing.
func (o Options) Validate() error {
	if o.Listen == "" || o.Metrics == nil || o.Ready == nil || o.Healthy == nil || o.Logger == nil {
		return errors.New("admin: listen, metrics, ready, healthy and logger must be set")
	}
	return nil
}

// Server answers on an address of its own.
type Server struct {
	http     *http.Server
	listener net.Listener
	done     chan struct{}
}

// The bounds of a request, of which there are few: reading, and how long an
// orderly end waits for one.
const (
	readTimeout = 10 * time.Second
	idleTimeout = 2 * time.Minute
	grace       = time.Second
)

// Open binds the address and answers. The caller closes the server.
func Open(opts Options) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for administration: %w", opts.Listen, err)
	}
	s := &Server{listener: listener, done: make(chan struct{}), http: &http.Server{
		Handler: routes(opts), ReadTimeout: readTimeout, IdleTimeout: idleTimeout,
		ErrorLog: httplog.New(opts.Logger),
	}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			opts.Logger.Error("the administration's listener has ended", "error", err)
		}
	}()
	return s, nil
}

// Addr is the address bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops answering. What is being answered, such as a profile that runs for
// half a minute, has a second to come to its end.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}

func routes(opts Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", opts.Metrics)
	mux.HandleFunc("GET /healthz", probe(opts.Healthy, "ok", "not healthy: "))
	mux.HandleFunc("GET /readyz", probe(opts.Ready, "ready", "not ready: "))
	// Without cmdline, in which the password of a database may stand.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}

// probe answers with good, or with 503, bad and what ask says.
func probe(ask func() error, good, bad string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := ask(); err != nil {
			say(w, http.StatusServiceUnavailable, bad+err.Error())
			return
		}
		say(w, http.StatusOK, good)
	}
}

// say answers with a line of text.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

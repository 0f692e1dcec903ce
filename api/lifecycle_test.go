package api_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
)

// Shutdown lets what runs finish, and says so to the rest. The configuration allows
// `drain: 0s`, which is to stop at once; api refused it, so that such a service did not
// start, naming a field that no file has.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]time.Duration{"finishes in time": time.Minute, "is cut short": 50 * time.Millisecond, "has no time": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			finishes := drain == time.Minute
			started, release := make(chan struct{}, 2), make(chan struct{})
			s := setup(t, config{
				plans: tight(1),
				api:   func(o *api.Options) { o.Drain = drain },
				detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
					started <- struct{}{}
					select {
					case <-release:
						return fake(ctx, r)
					case <-ctx.Done():
						return inference.Result{}, ctx.Err()
					}
				},
			})
			key := s.key("pro")
			u := s.begin(key, photo())
			u.write(len(u.body))
			<-started
			stopped := make(chan error, 1)
			go func() { stopped <- s.stop() }()
			if finishes {
				s.untilRefusedConnection()
				close(release)
				u.answer().ok(200)
			} else {
				u.answer().wantShutdown()
			}
			must(t, <-stopped)
			if used := s.usage(key).Used; used != map[bool]int{true: 1, false: 0}[finishes] {
				t.Errorf("%d scans were counted", used)
			}
			if free := s.check(key) == nil; free == finishes {
				t.Errorf("a place is free: %v", free)
			}
		})
	}
}

// When the listener was lost, Serve cut the running requests off and returned
// without waiting for them: the caller then closed the books under those that
// were about to settle.
func TestServeEndsByItself(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	s := setup(t, config{detect: func(ctx context.Context, r inference.Request) (inference.Result, error) {
		close(started)
		<-release
		if err := ctx.Err(); err != nil {
			return inference.Result{}, err
		}
		return fake(ctx, r)
	}})
	key := s.key("pro")
	u := s.begin(key, photo())
	u.write(len(u.body))
	<-started
	must(t, s.server.LoseListener())
	s.untilRefusedConnection()
	select {
	case <-s.served:
		t.Error("Serve ended while a request was running")
	case <-time.After(50 * time.Millisecond):
	}
	close(release)
	u.answer().ok(200)
	if err := s.stop(); err == nil || !strings.Contains(err.Error(), "serve:") {
		t.Errorf("Serve did not say that it ended by itself: %v", err)
	}
	s.stop = func() error { return nil } // its error is what was wanted
	if used := s.usage(key).Used; used != 1 {
		t.Errorf("%d scans were counted", used)
	}
}

// A request that won't stop doesn't hold the process; Shutdown says so.
func TestShutdownIsBounded(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	s := setup(t, config{
		api: func(o *api.Options) { o.Drain, o.Grace = 20*time.Millisecond, 20*time.Millisecond },
		detect: func(context.Context, inference.Request) (inference.Result, error) {
			close(started)
			<-release
			return inference.Result{}, errors.New("late")
		},
	})
	u := s.begin(s.key("pro"), photo())
	u.write(len(u.body))
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.server.Shutdown(ctx); err == nil {
		t.Error("Shutdown did not say that a request goes on")
	}
	close(release)
	if err := s.stop(); err == nil {
		t.Error("Serve did not say that a request went on")
	}
	s.stop = func() error { return nil } // its error is what was wanted
	for files := int64(1); files > 0; files, _ = s.spool.Usage() {
		runtime.Gosched()
	}
}

func (a answer) wantShutdown() {
	a.t.Helper()
	a.want(503, "internal_error")
	if !strings.Contains(a.text("message"), "shutting down") {
		a.t.Errorf("the message is %q", a.text("message"))
	}
}

func (s *service) untilRefusedConnection() {
	for {
		conn, err := net.Dial("tcp", s.server.Addr().String())
		if err != nil {
			return
		}
		_ = conn.Close()
	}
}

// New binds the address, and gives it back without ever serving.
func TestNewAndShutdownWithoutServe(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	opts := s.options
	opts.Listen = s.server.Addr().String()
	if _, err := api.New(opts); err == nil {
		t.Error("an address in use was accepted")
	}
	opts.Listen = "127.0.0.1:0"
	unserved, err := api.New(opts)
	must(t, err)
	address := unserved.Addr().String()
	must(t, unserved.Shutdown(t.Context()))
	must(t, unserved.Shutdown(t.Context()))
	opts.Listen = address
	again, err := api.New(opts)
	must(t, err)
	must(t, again.Shutdown(t.Context()))
	must(t, again.Serve(t.Context()))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	for name, edit := range map[string]func(*api.Options){
		"no detector":   func(o *api.Options) { o.Detector = nil },
		"no logger":     func(o *api.Options) { o.Logger = nil },
		"drain":         func(o *api.Options) { o.Drain = -1 },
		"file bytes":    func(o *api.Options) { o.FileBytes = 0 },
		"sync deadline": func(o *api.Options) { o.SyncDeadline = -1 },
		"trusted proxy": func(o *api.Options) { o.TrustedProxies = []string{"proxy.example"} },
		"per address":   func(o *api.Options) { o.ConnectionsPerAddress = 0 },
		"idle":          func(o *api.Options) { o.Pace.Idle = 0 },
		"rate":          func(o *api.Options) { o.Pace.Rate = -1 },
		"grace":         func(o *api.Options) { o.Pace.Grace = 0 },
		"linger time":   func(o *api.Options) { o.Pace.LingerTime = 0 },
		"linger idle":   func(o *api.Options) { o.Pace.LingerIdle = 0 },
		"linger bytes":  func(o *api.Options) { o.Pace.LingerBytes = -1 },
	} {
		opts := s.options
		edit(&opts)
		_, err := api.New(opts)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if word := strings.Fields(name)[len(strings.Fields(name))-1]; !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error %q does not name the field", name, err)
		}
	}
}

// An upload that is still coming when the drain ends is told why it is cut off.
func TestShutdownDuringUpload(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) { o.Uploads, o.Drain = 1, 50*time.Millisecond }})
	key := s.key("pro")
	u := s.begin(key, zeros(1<<19))
	u.write(1000)
	s.receiving()
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	u.answer().wantShutdown()
	must(t, <-stopped)
}

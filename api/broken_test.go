package api_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"deepfaked/api"
	"deepfaked/inference"
)

func pace(idle, grace time.Duration, rate int64) func(*api.Options) {
	return func(o *api.Options) {
		o.Pace = api.Pace{Idle: idle, Grace: grace, Rate: rate, LingerTime: time.Minute, LingerIdle: time.Second, LingerBytes: 1 << 20}
	}
}

// A client that stalls or trickles is cut off, told so, and holds nothing.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options func(*api.Options)
		trickle bool
	}{
		"stalls":               {pace(50*time.Millisecond, time.Hour, 1), false},
		"trickles":             {pace(time.Hour, 50*time.Millisecond, 1<<30), true},
		"stalls within a rate": {pace(time.Hour, 50*time.Millisecond, 1<<30), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t, config{api: c.options})
			u := s.begin(s.key("pro"), zeros(1<<19))
			u.write(1000)
			done := make(chan struct{})
			trickled := make(chan struct{})
			go func() {
				defer close(trickled)
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for c.trickle {
					select {
					case <-tick.C:
						_, _ = u.conn.Write([]byte{0})
					case <-done:
						return
					}
				}
			}()
			a := u.answer()
			close(done)
			<-trickled
			a.want(400, "invalid_request")
			if !strings.Contains(a.text("message"), "too slow") || !a.closes {
				t.Errorf("answered %s, connection closed: %v", a.raw, a.closes)
			}
			u.ended()
		})
	}
}

// What never sends a whole head is cut off too.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	s := setup(t, config{api: func(o *api.Options) { o.ReadHeaderTimeout = 50 * time.Millisecond }})
	u := s.dial(nil)
	u.send("POST /v1/detect HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	u.ended()
}

// Decisions: client gone during a synchronous analysis.
func TestClientGone(t *testing.T) {
	t.Parallel()
	for name, chunked := range map[string]bool{"Content-Length": false, "chunked": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started, cancelled := make(chan struct{}), make(chan error, 1)
			s := setup(t, config{plans: tight(1), detect: func(ctx context.Context, _ inference.Request) (inference.Result, error) {
				close(started)
				<-ctx.Done()
				cancelled <- ctx.Err()
				return fake(ctx, inference.Request{}) // too late: must not be charged
			}})
			key := s.key("pro")
			contentType, body := form(t, photo())
			u := s.dial(body)
			if chunked {
				u.body = nil
				u.send("POST /v1/detect HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer " + key +
					"\r\nContent-Type: " + contentType + "\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
			} else {
				u.send(head(key, contentType, len(body), "") + string(body))
			}
			<-started
			must(t, u.conn.Close())
			if err := <-cancelled; !errors.Is(err, context.Canceled) {
				t.Errorf("the detector's context ended with %v", err)
			}
			s.untilReleased(key)
			if used := s.usage(key).Used; used != 0 {
				t.Errorf("%d scans were counted", used)
			}
			must(t, s.stop())
			if logged := s.logs.String(); !strings.Contains(logged, `"gone":true`) || strings.Contains(logged, "ERROR") {
				t.Errorf("the log says %s", logged)
			}
		})
	}
}

// A client that only closes its side, as nc -N does, reads on, and was told that the
// service had failed and nothing was counted, though the day's submissions had one more.
func TestClientThatClosesItsSide(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := setup(t, config{detect: func(ctx context.Context, _ inference.Request) (inference.Result, error) {
		close(started)
		<-ctx.Done()
		return inference.Result{}, ctx.Err()
	}})
	u := s.begin(s.key("free"), photo())
	u.write(len(u.body))
	<-started
	must(t, u.conn.(*net.TCPConn).CloseWrite())
	a := u.answer()
	a.want(500, "internal_error")
	if got := a.text("message"); got != "The connection was closed before the answer." {
		t.Errorf("the message is %q", got)
	}
}

// untilReleased returns once the account has a free place again.
func (s *service) untilReleased(key string) {
	s.t.Helper()
	for s.check(key) != nil {
		runtime.Gosched()
	}
}

// check says whether a submission would be accepted now.
func (s *service) check(key string) error {
	s.t.Helper()
	a, err := s.ledger.Authenticate(s.t.Context(), key)
	must(s.t, err)
	return s.ledger.Check(s.t.Context(), a)
}

// A connection that breaks in the middle of a body leaves nothing.
func TestBrokenUpload(t *testing.T) {
	t.Parallel()
	s := setup(t, config{})
	key := s.key("pro")
	u := s.begin(key, zeros(1<<19))
	u.write(1 << 18)
	must(t, u.conn.(*net.TCPConn).CloseWrite())
	a := u.answer()
	a.want(400, "invalid_request")
	if !strings.Contains(a.text("message"), "truncated") {
		t.Errorf("the message is %q", a.text("message"))
	}
	gone := s.begin(key, zeros(1<<19))
	gone.write(1 << 18)
	must(t, gone.conn.Close())
	must(t, s.stop()) // the cleanup finds an empty spool
}

// reasons is an observer that keeps why requests were refused.
type reasons chan api.Reason

func (r reasons) Answered(a api.Answer) { r <- a.Reason }
func (reasons) Spooled(time.Duration)   {}

// Uploads that their clients broke off stood in the metrics as invalid requests, as if so many
// clients sent what they must not. A form that came whole and is cut short is one.
func TestABrokenOffUploadIsNoInvalidRequest(t *testing.T) {
	t.Parallel()
	answered := make(reasons, 1)
	s := setup(t, config{api: func(o *api.Options) { o.Observer = answered }})
	key := s.key("pro")
	contentType, body := form(t, photo())
	chunked := "POST /v1/detect HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer " + key +
		"\r\nContent-Type: " + contentType + "\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(body)-8, body[:len(body)-8])
	for sent, want := range map[string]api.Reason{
		head(key, contentType, len(body), "") + string(body[:len(body)-8]): "gone",
		chunked:               "gone",
		chunked + "0\r\n\r\n": "invalid_request",
		chunked + "what\r\n":  "invalid_request",
	} {
		u := s.dial(nil)
		u.send(sent)
		if want != "gone" {
			u.answer().want(400, "invalid_request")
		}
		must(t, u.conn.Close())
		if got := <-answered; got != want {
			t.Errorf("%q is told as %s of\n%s", got, want, sent)
		}
	}
}

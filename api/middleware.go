package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
)

// maxRequestID bounds an id that a client chose.
const maxRequestID = 128

// forwardedFor lists the addresses that a request came by.
const forwardedFor = "X-Forwarded-For"

// begin gives the request its id and the state that the others share.
func (s *Server) begin(c *gin.Context) {
	id := c.GetHeader("X-Request-ID")
	if !isRequestID(id) {
		id = "req_" + strings.ToLower(rand.Text())
	}
	spell(c, "X-Request-ID", id)
	c.Set(callKey, &call{id: id, start: time.Now(), body: newBody(c.Request, c.Writer, s.opts.Pace)})
}

// isRequestID accepts what can stand in a header, a log and an address as it is.
func isRequestID(id string) bool {
	for _, b := range []byte(id) {
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', strings.IndexByte("-_.~:+=@/", b) >= 0:
		default:
			return false
		}
	}
	return id != "" && len(id) <= maxRequestID
}

// linger lets an answer reach a client that is still sending: it reads on, in
// bounds, after the answer has been written.
func (s *Server) linger(c *gin.Context) {
	body, conn := from(c).body, http.NewResponseController(c.Writer)
	// The last answer's deadline may still stand on the connection.
	_ = conn.SetWriteDeadline(time.Time{})
	if body.ended {
		c.Next()
		return
	}
	// Otherwise net/http reads the body itself before it sends an answer, and
	// waits for it without a deadline. HTTP/1 always has this; its absence
	// would only bring that back.
	_ = conn.EnableFullDuplex()
	defer uponLeaving(c.Request.Context(), func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	c.Next()
	body.linger()
}

// uponLeaving calls f when the client leaves. What it returns ends that, and
// waits for an f that has begun: gin gives the writer that f reaches the
// connection through to the next request.
func uponLeaving(ctx context.Context, f func()) (end func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(done); f() })
	return func() {
		if !stop() {
			<-done
		}
	}
}

// access writes one line for each request: no path as sent, no file name, no
// key, no score.
func (s *Server) access(c *gin.Context) {
	defer func() {
		call, level := from(c), levelOf(c.FullPath())
		attrs := []slog.Attr{
			slog.String("request_id", call.id), slog.String("method", method(c)), slog.String("route", c.FullPath()),
			slog.Int("status", c.Writer.Status()), slog.Int64("bytes_in", call.body.read),
			slog.Int("bytes_out", max(0, c.Writer.Size())), slog.Float64("duration_ms", milliseconds(time.Since(call.start))),
		}
		if call.account != nil {
			attrs = append(attrs, slog.String("account", call.account.ID))
		}
		if call.gone {
			attrs = append(attrs, slog.Bool("gone", true))
		}
		if call.problem != nil {
			attrs = append(attrs, slog.String("code", call.problem.code))
			if call.problem.code == internalError {
				attrs = append(attrs, slog.Any("error", call.err))
				if !call.gone && !call.problem.unavailable() {
					level = slog.LevelError
				}
			}
			if call.stack != nil {
				attrs = append(attrs, slog.String("stack", string(call.stack)))
			}
		}
		s.opts.Logger.LogAttrs(c.Request.Context(), level, "request", attrs...)
		s.answered(c, call)
	}()
	c.Next()
}

// levelOf keeps the probes of an orchestrator, one every few seconds, from
// filling the log.
func levelOf(route string) slog.Level {
	if route == "/healthz" || route == "/readyz" {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// milliseconds keeps microseconds: a probe takes a few dozen of them.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// method keeps what a client made up out of the log.
func method(c *gin.Context) string {
	if len(c.Request.Method) > 16 {
		return "OTHER"
	}
	return c.Request.Method
}

// recover turns a panic into the contract's error.
func (s *Server) recover(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v)
		}
		from(c).stack = debug.Stack()
		s.fail(c, fmt.Errorf("panic: %v", v))
	}()
	c.Next()
}

// authenticate finds the account of the key, if there is a valid one.
func (s *Server) authenticate(c *gin.Context) {
	a, err := s.opts.Accounts.Authenticate(c.Request.Context(), bearer(c.Request))
	switch {
	case err == nil:
		from(c).account = &a
	case !errors.Is(err, account.ErrUnauthorized):
		s.fail(c, err)
	}
}

// bearer is the key of the request; empty when there is none in the right form.
func bearer(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, key, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimLeft(key, " ")
}

// limit counts the request against its account, and only without one against
// its address.
func (s *Server) limit(c *gin.Context) {
	call := from(c)
	whose := "The address's limit for requests without a valid API key is used up."
	if a := call.account; a != nil {
		call.decision = s.opts.Limiter.Allow(a.ID, a.Plan.RequestsPerMinute)
		whose = "The plan's limit of requests per minute is used up."
	} else {
		call.decision = s.opts.Addresses.Allow(address(c), s.opts.AddressPerMinute)
	}
	if call.decided = time.Now(); !call.decision.Allowed {
		s.fail(c, &problem{code: rateLimited, message: whose, retryAfter: call.decision.Reset})
	}
}

// address names the client for the limiter.
func address(c *gin.Context) string {
	plainly(c.Request.Header)
	addr, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return ""
	}
	return account.AddressKey(addr)
}

// plainly writes forwarded addresses without what some proxies add to them, since gin
// reads none of a list that holds such a one.
func plainly(h http.Header) {
	forwarded := strings.Split(strings.Join(h.Values(forwardedFor), ","), ",")
	for i, item := range forwarded {
		forwarded[i] = plain(strings.TrimSpace(item))
	}
	h.Set(forwardedFor, strings.Join(forwarded, ","))
}

// plain takes from an address its port, its brackets and its zone.
func plain(item string) string {
	peer, err := netip.ParseAddrPort(item)
	addr := peer.Addr()
	if err != nil {
		addr, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(item, "["), "]"))
	}
	if err != nil {
		return item
	}
	return addr.WithZone("").String()
}

// requireKey refuses a request without a valid key.
func (s *Server) requireKey(c *gin.Context) {
	if from(c).account == nil {
		c.Header("WWW-Authenticate", "Bearer")
		s.fail(c, account.ErrUnauthorized)
	}
}

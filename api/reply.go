package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
)

// reply writes v as JSON.
func (s *Server) reply(c *gin.Context, status int, v any) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		s.fail(c, err)
		return
	}
	s.send(c, status, "application/json; charset=utf-8", out.Bytes())
}

// send writes an answer with the headers that every answer has. It is the only
// way in which anything is answered.
func (s *Server) send(c *gin.Context, status int, contentType string, content []byte) {
	call := from(c)
	call.gone = hasGone(c.Request.Context())
	s.rateHeaders(c, call.decision)
	c.Header("Cache-Control", "no-store")
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Content-Length", strconv.Itoa(len(content)))
	if !call.body.finish() {
		c.Header("Connection", "close")
	}
	conn := http.NewResponseController(c.Writer)
	_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	c.Data(status, contentType, content)
	// The client may be waiting for this before it stops sending.
	_ = conn.Flush()
}

// rateHeaders tells where the limit stood when the request was counted, and when that window ends. A request that is counted nowhere
// (a probe, or one that failed before it could be) sees the address's limit
// untouched.
func (s *Server) rateHeaders(c *gin.Context, d account.Decision) {
	if d.Limit == 0 {
		d = account.Decision{Limit: s.opts.AddressPerMinute, Remaining: s.opts.AddressPerMinute, Reset: time.Minute}
	} else {
		d.Reset -= time.Since(from(c).decided) // the answer may have taken long; at least a second is told
	}
	spell(c, "X-RateLimit-Limit", strconv.Itoa(d.Limit))
	spell(c, "X-RateLimit-Remaining", strconv.Itoa(d.Remaining))
	spell(c, "X-RateLimit-Reset", strconv.Itoa(seconds(d.Reset)))
}

// spell sets a header with the contract's capitals, which net/http would change.
func spell(c *gin.Context, name, value string) { c.Writer.Header()[name] = []string{value} }

// fail answers with what the client may know of err, and ends the chain. The
// access line has the rest.
func (s *Server) fail(c *gin.Context, err error) {
	c.Abort()
	call, p, ctx := from(c), describe(err), c.Request.Context()
	switch {
	case p.code != internalError:
	case hasGone(ctx):
		p = describe(errGone)
	case ctx.Err() != nil:
		p = describe(context.Cause(ctx))
	}
	call.problem, call.err = p, err
	if c.Writer.Written() {
		return
	}
	if p.retryAfter > 0 {
		c.Header("Retry-After", strconv.Itoa(seconds(p.retryAfter)))
	}
	if p.code != internalError {
		s.opts.Logger.Debug("request refused", "request_id", call.id, "code", p.code, "error", err)
	}
	s.reply(c, p.status(), p.body())
}

package api

import (
	"cmp"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/preprocess"
)

// Observer is told of requests as they end. Many goroutines call it at once, and
// a request waits for it: it must be quick and must not block.
type Observer interface {
	// Answered is told of every request, probes among them.
	Answered(a Answer)
	// Spooled is told how long a submission took from its headers to the end of
	// its file on disk: mostly its client's time.
	Spooled(took time.Duration)
}

// Answer is what became of a request.
type Answer struct {
	Route  string // as it is registered, such as /v1/results/:id; empty where there is none
	Method string // as the client sent it
	Status int
	Took   time.Duration
	Reason Reason // why it was refused; empty when it was not
}

// Reason says why a request was refused: a code of the contract, or one of those
// below, which tell apart what the contract does not. There are few of them.
type Reason string

// The reasons that are no codes of the contract.
const (
	dailyLimit    Reason = "daily_limit"
	saturated     Reason = "saturated"       // more work than can be done in time
	uploadsAtOnce Reason = "uploads_at_once" // of one account
	jobsWaiting   Reason = "jobs_waiting"    // likewise
	shuttingDown  Reason = "shutting_down"
	tooLate       Reason = "deadline"
	spoolFull     Reason = "spool_full"
	uploadLost    Reason = "upload_lost"
	uploadsAway   Reason = "uploads_away" // a folder or the bucket can't be used
	gone          Reason = "gone"         // the client did not wait for the answer
)

// Reasons lists them all.
func Reasons() []Reason {
	return []Reason{
		unauthorized, quotaExceeded, asyncNotAllowed, invalidRequest, notFound, methodNotAllowed, Reason(payloadTooLarge), rateLimited,
		internalError, notReady, Reason(preprocess.EmptyFile), Reason(preprocess.UnsupportedMediaType), Reason(preprocess.ContentTypeMismatch),
		dailyLimit, saturated, uploadsAtOnce, jobsWaiting, shuttingDown, tooLate, spoolFull, uploadLost, uploadsAway, gone,
	}
}

// answered tells the observer of a request that has ended.
func (s *Server) answered(c *gin.Context, call *call) {
	if s.opts.Observer == nil {
		return
	}
	a := Answer{Route: c.FullPath(), Method: c.Request.Method, Status: c.Writer.Status(), Took: time.Since(call.start)}
	switch {
	case call.problem == nil:
	case call.gone && call.problem.reason == "" && (call.problem.code == internalError || call.problem.code == invalidRequest && call.body.brokenOff()):
		a.Reason = gone
	default:
		a.Reason = cmp.Or(call.problem.reason, Reason(call.problem.code))
	}
	s.opts.Observer.Answered(a)
}

// spooled tells the observer that the call's file is on disk.
func (s *Server) spooled(call *call) {
	if s.opts.Observer != nil {
		s.opts.Observer.Spooled(time.Since(call.start))
	}
}

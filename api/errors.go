package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"deepfaked/inference"
	"deepfaked/internal/account"
	"deepfaked/internal/job"
	"deepfaked/internal/spool"
	"deepfaked/preprocess"
)

// The codes of the contract, and of what it leaves open.
const (
	unauthorized     = "unauthorized"
	quotaExceeded    = "quota_exceeded"
	asyncNotAllowed  = "async_not_allowed"
	invalidRequest   = "invalid_request"
	notFound         = "not_found"
	methodNotAllowed = "method_not_allowed"
	payloadTooLarge  = string(preprocess.PayloadTooLarge)
	rateLimited      = "rate_limited"
	internalError    = "internal_error"
	notReady         = "not_ready" // only from /readyz
)

// problem is an error as the client sees it.
type problem struct {
	code       string
	message    string
	retryAfter time.Duration // only with rateLimited, and where the service is not ready
	reason     Reason        // for the observer, where the code is too coarse
}

// soon is after how long whoever finds the service not ready may ask again.
const soon = 2 * time.Second

// unreadyError is why nothing can be judged at present, in words that a client may read.
type unreadyError struct{ reason error }

// Error says so.
func (e *unreadyError) Error() string { return "the service is not ready: " + e.reason.Error() }

// Unwrap is the reason.
func (e *unreadyError) Unwrap() error { return e.reason }

// Error returns the message.
func (p *problem) Error() string { return p.message }

// status is the only place where a code meets an HTTP status.
func (p *problem) status() int {
	switch p.code {
	case unauthorized:
		return http.StatusUnauthorized
	case quotaExceeded, asyncNotAllowed:
		return http.StatusPaymentRequired
	case invalidRequest, string(preprocess.EmptyFile):
		return http.StatusBadRequest
	case notFound:
		return http.StatusNotFound
	case methodNotAllowed:
		return http.StatusMethodNotAllowed
	case payloadTooLarge:
		return http.StatusRequestEntityTooLarge
	case string(preprocess.UnsupportedMediaType), string(preprocess.ContentTypeMismatch):
		return http.StatusUnsupportedMediaType
	case rateLimited:
		return http.StatusTooManyRequests
	case notReady:
		return http.StatusServiceUnavailable
	}
	if p.unavailable() {
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// unavailable says that the service does not take submissions yet, or no longer, which is no failure.
func (p *problem) unavailable() bool {
	return p.code == internalError && (p.reason == Reason(notReady) || p.reason == shuttingDown)
}

// seconds is a wait as the contract writes it: whole, rounded up, at least 1.
func seconds(wait time.Duration) int { return max(1, int(math.Ceil(wait.Seconds()))) }

// errorBody is the contract's error shape.
type errorBody struct {
	Error      string `json:"error"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after,omitempty"`
}

// body words the problem; a rate limit's message names the wait.
func (p *problem) body() errorBody {
	b := errorBody{Error: p.code, Message: p.message}
	if p.code == rateLimited {
		b.RetryAfter = seconds(p.retryAfter)
		b.Message = fmt.Sprintf("%s Retry in %s.", p.message, count(b.RetryAfter, "second"))
	}
	return b
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size words a number of bytes, in MiB too where they are whole.
func size(bytes int64) string {
	if bytes%(1<<20) != 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d MiB (%d bytes)", bytes>>20, bytes)
}

// Sentence words err for a client without a status: it is the message that a
// synchronous call would have answered with. Nothing internal is in it.
func Sentence(err error) string { return describe(err).body().Message }

// describe finds what a client may know of err.
func describe(err error) *problem {
	if known, ok := errors.AsType[*problem](err); ok {
		return known
	}
	if media, ok := errors.AsType[*preprocess.Error](err); ok {
		if p := (&problem{code: string(media.Code), message: media.Message}); p.status() != http.StatusInternalServerError {
			return p
		}
	}
	if p := describeLimit(err); p != nil {
		return p
	}
	return describeOwn(err)
}

// describeLimit words what has been used up; nil for other errors.
func describeLimit(err error) *problem {
	var daily *account.LimitError
	var busy *inference.SaturatedError
	switch {
	case errors.As(err, &daily):
		return &problem{code: rateLimited, reason: dailyLimit, retryAfter: daily.RetryAfter, message: fmt.Sprintf(
			"The plan's daily limit of %s is used up.", count(daily.Limit, "submission"))}
	case errors.Is(err, job.ErrShare) && errors.As(err, &busy):
		return &problem{code: rateLimited, reason: jobsWaiting, retryAfter: busy.RetryAfter,
			message: "As many jobs of this account wait as the service has room left for everybody's."}
	case errors.As(err, &busy):
		return &problem{code: rateLimited, reason: saturated, retryAfter: busy.RetryAfter,
			message: "The service has more work than it can finish in time."}
	case errors.Is(err, account.ErrUnauthorized):
		return &problem{code: unauthorized,
			message: "The API key is missing, malformed or revoked: send a valid one as Authorization: Bearer API_KEY."}
	case errors.Is(err, account.ErrQuotaExceeded):
		return &problem{code: quotaExceeded,
			message: "The plan's scan allowance is used up: upgrade the plan to continue."}
	}
	return nil
}

// describeOwn words what is the service's fault, and tells apart only what helps
// the client to decide.
func describeOwn(err error) *problem {
	p := &problem{code: internalError}
	unready, isUnready := errors.AsType[*unreadyError](err)
	switch {
	case errors.Is(err, ErrNotStarted):
		p.reason, p.message = Reason(notReady), "The service is not ready, as it could not be started; the log of the service says why."
		p.retryAfter = soon
	case isUnready:
		p.reason, p.message = Reason(notReady), fmt.Sprintf("The service is not ready: %s. Retry in %s.", unready.reason, count(seconds(soon), "second"))
		p.retryAfter = soon
	case errors.Is(err, errGone): // what was counted depends on when it left
		p.message = "The connection was closed before the answer."
	case errors.Is(err, job.ErrClosed):
		p.reason, p.message = shuttingDown, "The service is shutting down; nothing was counted. Submit the file again."
		p.retryAfter = soon
	case errors.Is(err, spool.ErrLost), errors.Is(err, spool.ErrDamaged):
		p.reason, p.message = uploadLost, "The upload was lost before its analysis; nothing was counted. Submit the file again."
	case errors.Is(err, spool.ErrAway):
		p.reason, p.message = uploadsAway, "The service can't put the upload into its store right now; nothing was counted. Retry in a moment."
	case errors.Is(err, job.ErrSlow):
		p.reason, p.message = uploadsAway, "The upload could not be fetched from the service's store in time; nothing was counted. Submit the file again."
	case errors.Is(err, job.ErrTooLate):
		p.reason, p.message = tooLate, "The analysis took too long and was stopped; nothing was counted. Retry in a moment."
	case errors.Is(err, spool.ErrFull):
		p.reason, p.message = spoolFull, "The service has no room for the upload right now; nothing was counted. Retry in a moment."
	default:
		p.message = "The service failed; nothing was counted. Retry in a moment."
	}
	return p
}

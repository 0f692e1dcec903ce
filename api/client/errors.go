package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is the service's refusal.
type Error struct {
	Status     int           // of HTTP
	Code       string        // such as rate_limited; empty when the answer was not the service's
	Message    string        // a sentence for people
	RetryAfter time.Duration // a day at most; 0 when nothing is suggested
	RequestID  string        // to name the request to the operator
}

// Error returns the message, and what is known of the status, which a message names
// where there is no code, the code and the request id.
func (e *Error) Error() string {
	var known []string
	if e.Code != "" {
		known = append(known, fmt.Sprintf("%d %s", e.Status, e.Code))
	}
	if e.RequestID != "" {
		known = append(known, "request "+e.RequestID)
	}
	if len(known) == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s (%s)", e.Message, strings.Join(known, ", "))
}

// temporary says that the same call may succeed later.
func (e *Error) temporary() bool {
	switch e.Status {
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// newError understands an answer that is no success; something in between may
// have given it.
func newError(resp *http.Response, body []byte, wait time.Duration) error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-ID"), RetryAfter: wait}
	var said struct {
		Error      string `json:"error"`
		Message    string `json:"message"`
		RetryAfter int    `json:"retry_after"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error == "" {
		e.Message = "the answer was " + strings.TrimSpace(resp.Status)
		return e
	}
	e.Code, e.Message = said.Error, said.Message
	if said.RetryAfter > 0 {
		e.RetryAfter = waitOf(uint64(said.RetryAfter))
	}
	return e
}

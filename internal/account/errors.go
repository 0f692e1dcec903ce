package account

import (
	"errors"
	"fmt"
	"time"
)

// What a caller can be refused for. They are matched with errors.Is.
var (
	// ErrUnauthorized: the key is malformed, unknown or revoked.
	ErrUnauthorized = errors.New("the API key is malformed, unknown or revoked")
	// ErrQuotaExceeded: used and reserved scans have reached the plan's allowance.
	ErrQuotaExceeded = errors.New("the plan's scan allowance is used up")
	// ErrNotFound: there is no such detection for this account.
	ErrNotFound = errors.New("there is no such detection")
	// ErrKeyNotFound: there is no such key.
	ErrKeyNotFound = errors.New("there is no such key")
	// ErrNoAccount: there is no account of that name.
	ErrNoAccount = errors.New("there is no such account")
	// ErrFailed: the detection has already failed, so its result is not stored.
	ErrFailed = errors.New("the detection has already failed")
	// ErrComplete: the detection has already completed, so it can't fail.
	ErrComplete = errors.New("the detection has already completed")
	// ErrSuperseded is a Step's, and stays: somebody else decides how the detection
	// ends.
	ErrSuperseded = errors.New("somebody else decides how the detection ends")
)

// LimitError says that the daily limit is used up.
type LimitError struct {
	Limit      int           // submissions in a UTC day
	RetryAfter time.Duration // to the next 00:00 UTC, in (0, 24h]
}

// Error is a sentence for people.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the daily limit of %d submissions is used up; it is reset in %s", e.Limit, e.RetryAfter)
}

// PlanConflictError says that an account exists with another plan than asked
// for.
type PlanConflictError struct {
	Account string
	Plan    string // what the account has
	Asked   string
}

// Error is a sentence for an operator.
func (e *PlanConflictError) Error() string {
	return fmt.Sprintf("the account %s has the plan %s: create its key with --plan %s, or move it first with keys plan %s %s",
		e.Account, e.Plan, e.Plan, e.Account, e.Asked)
}

package api

import (
	"context"
	"errors"
	"time"

	"github.com/gin-gonic/gin"

	"deepfaked/internal/account"
	"deepfaked/internal/job"
)

// callKey is where a request's call is kept in gin's context.
const callKey = "call"

// call is what is known of one request. It is used by the request's goroutine.
type call struct {
	id       string
	start    time.Time
	body     *body
	account  *account.Account // nil without a valid key
	decision account.Decision // of the rate limit; zero when not counted
	decided  time.Time        // when it was made
	gone     bool             // the client left before the answer
	problem  *problem         // what was answered, when that was an error
	err      error            // what lay beneath
	stack    []byte           // of a panic
}

// from finds the request's call. begin has put it there.
func from(c *gin.Context) *call { return c.MustGet(callKey).(*call) }

// hasGone says whether the client of a request has left, or has closed its side of
// the connection, which looks the same. It tells so only before the answer: many leave
// as soon as they have it. A request that ends because the service does still has its
// client.
func hasGone(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), job.ErrClosed)
}

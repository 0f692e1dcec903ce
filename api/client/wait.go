package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"
)

// Waits between two questions, when the service suggests none.
const (
	firstWait = 250 * time.Millisecond
	maxWait   = 15 * time.Second
)

// maxUnanswered is how many questions in a row may get no answer: an address where
// nothing is must be told of at last. With the waits between them they take 19 seconds
// at first, and two minutes once the waits are long.
const maxUnanswered = 10

// Wait asks for the result of a submission until it is complete or failed, or
// ctx ends. It waits as long as the service suggests, and longer each time. A
// rate limit, a failure of the service and a restart of it are waited out: ten calls
// in a row without an answer are an error, the last one's. Any other refusal is
// returned as an *Error.
func (c *Client) Wait(ctx context.Context, id string) (Detection, error) {
	unanswered := 0
	for pause := firstWait; ; pause = min(pause*3/2, maxWait) {
		d, err := c.Result(ctx, id)
		suggested := d.RetryAfter
		var refused *Error
		var lost *url.Error
		switch {
		case err == nil && (d.Status == Complete || d.Status == Failed):
			return d, nil
		case err == nil && d.Status != Processing:
			return d, fmt.Errorf("understand the answer: %q is no status of a detection", d.Status)
		case err == nil:
			unanswered = 0
		case errors.As(err, &refused) && refused.temporary():
			unanswered, suggested = 0, refused.RetryAfter
		case errors.As(err, &lost) && ctx.Err() == nil && unanswered+1 < maxUnanswered:
			unanswered++
		default:
			return d, err
		}
		if err := sleep(ctx, max(pause, suggested)); err != nil {
			return d, err
		}
	}
}

// sleep waits for d and up to a tenth more, so that clients spread out.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d + rand.N(d/10+1)): //nolint:gosec // spreading needs no secrecy
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

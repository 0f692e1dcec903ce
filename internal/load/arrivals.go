package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// gaps gives the time from one arrival of an open loop to the next: evenly, as wrk2 and
// vegeta do, or exponentially distributed, like many people who know nothing of each
// other. The same seed gives the same gaps. What it returns is not safe for concurrent use.
func (p Plan) gaps() func() time.Duration {
	if !p.Poisson {
		gap := time.Duration(float64(time.Second) / p.Rate)
		return func() time.Duration { return gap }
	}
	random := rand.New(rand.NewPCG(p.Seed, 0)) //nolint:gosec // a load that can be repeated needs no secrecy
	return func() time.Duration { return time.Duration(random.ExpFloat64() / p.Rate * float64(time.Second)) }
}

// waitUntil waits for a moment. It returns false where ctx has ended before.
func waitUntil(ctx context.Context, at time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Until(at)):
		return ctx.Err() == nil
	}
}

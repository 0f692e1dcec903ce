package load

import (
	"context"
	"math/rand/v2"
	"time"
)

// Gaps gives the time from one arrival to the next. It is not safe for concurrent
// use.
type Gaps func() time.Duration

// Constant arrives so many times a second, evenly, as wrk2 and vegeta do.
func Constant(rate float64) Gaps {
	gap := time.Duration(float64(time.Second) / rate)
	return func() time.Duration { return gap }
}

// Poisson arrives so many times a second on average, like many people who know
// nothing of each other: gaps are exponentially distributed. The same random
// numbers give the same gaps.
func Poisson(rate float64, r *rand.Rand) Gaps {
	return func() time.Duration { return time.Duration(r.ExpFloat64() / rate * float64(time.Second)) }
}

// waitUntil waits for a moment. It returns false where ctx has ended before.
func waitUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

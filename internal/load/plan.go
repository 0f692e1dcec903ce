package load

import (
	"errors"
	"time"
)

// Plan says what load there is and how long it is measured. One of Rate, Clients
// and Burst is set.
type Plan struct {
	Rate    float64 // open loop: requests a second
	Poisson bool    // open loop: as they come, not evenly
	Clients int     // closed loop: clients who wait for their answers
	Burst   int     // requests at once; measured until the last has ended

	Warmup      time.Duration // load that is not measured; before a burst it is one client's
	Window      time.Duration
	Windows     int           // most windows; it ends earlier where three are steady
	SLO         time.Duration // longest latency of a good request
	Timeout     time.Duration // of a request, from when it is sent; an hour at most
	Connections int           // open loop: most requests at once
	Seed        uint64        // of arrivals

	Meter Meter // of the target; may be nil
}

// slowest is a rate whose gaps are far from the longest duration there is.
const slowest = 1e-3

// month bounds what a plan may take, so that the times of many together are still a
// duration.
const month = 30 * 24 * time.Hour

// Validate says what is wrong with a plan.
func (p Plan) Validate() error {
	given := 0
	for _, set := range []bool{p.Rate != 0, p.Clients != 0, p.Burst != 0} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("one of a rate, a number of clients and a burst must be given")
	case p.Rate != 0 && !(p.Rate >= slowest && p.Rate <= 1e6):
		return errors.New("rates lie between 0.001 and 1,000,000 a second")
	case p.Clients < 0 || p.Clients > 1e5 || p.Burst < 0 || p.Burst > 1e5:
		return errors.New("clients and bursts go up to 100,000")
	case p.Window <= 0 || p.Windows < 1 || p.Windows > 1000:
		return errors.New("there must be 1 to 1,000 windows, and they must last")
	case p.Warmup < 0 || p.SLO <= 0 || p.Timeout <= 0:
		return errors.New("the warm-up must not be negative, and the time limits must be positive")
	case p.Timeout.Microseconds() > longest:
		return errors.New("a request may take an hour at most: longer latencies are not told apart")
	case p.Warmup > month || p.Window > month/time.Duration(p.Windows):
		return errors.New("the warm-up, and all windows together, may take 30 days at most")
	case p.Connections < 1:
		return errors.New("there must be a connection")
	}
	return nil
}

// Longest is how long Run may take.
func (p Plan) Longest() time.Duration {
	if p.Burst > 0 {
		return p.Warmup + 2*p.Timeout // the last request of the warm-up, and the burst
	}
	return p.Warmup + time.Duration(p.Windows)*p.Window + p.Timeout
}

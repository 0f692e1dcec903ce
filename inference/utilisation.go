package inference

import (
	"math"
	"time"
)

// utilisation is the part of their time for which executors were busy lately.
type utilisation float64

// lately is the time constant of that.
const lately = time.Second

// observe adds what one of so many executors did: it was busy for so long, then idle.
func (u *utilisation) observe(busy, idle time.Duration, executors int) {
	whole := busy + idle
	if whole <= 0 {
		return
	}
	weight := 1 - math.Exp(-whole.Seconds()/lately.Seconds()/float64(executors))
	*u += utilisation(weight * (busy.Seconds()/whole.Seconds() - float64(*u)))
}

// busiest is the utilisation from which on all is as at it: none is sure to be one.
const busiest = 0.95

// burden is how many rows are held up by what a batch costs in vain, for each that waits. At
// a utilisation of rho work lasts 1/(1-rho) times as long with all that comes meanwhile, and
// so do those many times as many rows wait for its end; and where every batch costs more, rho
// itself grows, by which all of them wait 1/(1-rho) times as much longer.
func (u utilisation) burden() float64 {
	idle := 1 - min(float64(u), busiest)
	return 1 / (idle * idle)
}

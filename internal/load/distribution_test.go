package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestPercentilesOfFew: of ten latencies the 91st of a hundred was the ninth, which
// one in ten exceeds: ranks were rounded to the nearest, and below a thousand requests
// the tail looked shorter than it was. Here the rank is calculated in whole
// numbers.
func TestPercentilesOfFew(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for n := 1; n <= 1200; n++ {
		tally, all := newTally(), []time.Duration{}
		for range n {
			all = append(all, time.Duration(1+random.IntN(1000))*time.Microsecond) // the histogram is exact there
			put(tally.delay, all[len(all)-1])
		}
		slices.Sort(all)
		for perMille := 1; perMille <= 1000; perMille++ {
			rank := (perMille*n + 999) / 1000
			d, percent := tally.Delay(), float64(perMille)/10
			if want := all[rank-1]; want != d.Percentile(percent) {
				assert.Equal(t, want, d.Percentile(percent), "percentile %g of %d", percent, n)
			}
			if tells := rank < n; tells != d.Tells(percent) {
				assert.Equal(t, tells, d.Tells(percent), "percentile %g of %d", percent, n)
			}
		}
	}
	assert.Zero(t, newTally().Delay().Percentile(50))
}

package load

import (
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Distribution is how long things took, to three digits.
type Distribution struct {
	h    *hdrhistogram.Histogram
	more int // never happened, and count as longer than all that did
}

// Count is how many there are, without those that never happened.
func (d Distribution) Count() int { return int(d.h.TotalCount()) }

// Mean is their mean; 0 where there are none.
func (d Distribution) Mean() time.Duration { return micro(d.h.Mean()) }

// Max is the longest; 0 where there are none.
func (d Distribution) Max() time.Duration { return micro(float64(d.h.Max())) }

// Percentile is the shortest that so many of a hundred did not exceed; 0 where there
// are none. Where it is not known, it is no shorter than the longest, which this is.
func (d Distribution) Percentile(p float64) time.Duration {
	if d.Count() == 0 {
		return 0
	}
	// The histogram rounds what it makes of a percentage to the nearest rank.
	rank := min(d.rank(p), d.Count())
	return micro(float64(d.h.ValueAtPercentile(100 * float64(rank) / float64(d.Count()))))
}

// Known says that a percentile is not that of something that never happened.
func (d Distribution) Known(p float64) bool { return d.rank(p) <= d.Count() }

// Tells says that a percentile is known, and another than the longest of all.
func (d Distribution) Tells(p float64) bool { return d.Known(p) && d.rank(p) < d.Count()+d.more }

// rank is the place of a percentile among all in order of length, from 1 on. What
// fractions in base two add to a whole number rounds nothing up.
func (d Distribution) rank(p float64) int {
	return max(1, int(math.Ceil(p*float64(d.Count()+d.more)/100-1e-6)))
}

// Bar is a column of a histogram.
type Bar struct {
	From, To time.Duration
	Count    int
}

// Bars are columns of equal width on a logarithmic axis, so many for each factor
// of ten, from the first that is not empty to the last.
func (d Distribution) Bars(perDecade int) (bars []Bar) {
	first := math.MaxInt
	counts := map[int]int{}
	last := 0
	for _, b := range d.h.Distribution() {
		if b.Count == 0 {
			continue
		}
		i := int(math.Floor(math.Log10(float64(max(b.From, 1))) * float64(perDecade)))
		counts[i] += int(b.Count)
		first, last = min(first, i), max(last, i)
	}
	edge := func(i int) time.Duration { return micro(math.Pow(10, float64(i)/float64(perDecade))) }
	for i := first; i <= last; i++ {
		bars = append(bars, Bar{edge(i), edge(i + 1), counts[i]})
	}
	return bars
}

func micro(v float64) time.Duration { return time.Duration(v * float64(time.Microsecond)) }

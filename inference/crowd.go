package inference

import "time"

// crowd is how many files of a line there are for each that can be judged side by side, at
// least 1. That much longer they take, as what shares processors does. What the other line
// has changes it too, and comes and goes with it in the averages: a film is not kept out by
// pictures, which get their turns in between.
type crowd struct {
	side  int // files that can be
	files int
	sum   time.Duration // of what it was, over time
	since time.Time     // until then
}

// with is what it would be with n more.
func (c *crowd) with(n int) float64 { return max(1, float64(c.files+n)/float64(c.side)) }

// add says that there are n more from now on.
func (c *crowd) add(n int, now time.Time) {
	c.sum += time.Duration(float64(now.Sub(c.since)) * c.with(0))
	c.since = now
	c.files += n
}

// during is what it was on average while a file was there that came when it had summed up to
// before.
func (c *crowd) during(took, before time.Duration) float64 {
	return max(1, float64(c.sum-before)/float64(max(took, 1)))
}

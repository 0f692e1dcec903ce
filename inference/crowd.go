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
	left  time.Duration // that all of them take until they are done, as predicted then
	since time.Time     // until then
}

// with is what it would be with n more.
func (c *crowd) with(n int) float64 { return max(1, float64(c.files+n)/float64(c.side)) }

// add says that there are n more from now on, that take so long.
func (c *crowd) add(n int, left time.Duration, now time.Time) {
	c.sum += time.Duration(float64(now.Sub(c.since)) * c.with(0))
	c.left = c.after(now) + time.Duration(n)*left
	c.since = now
	c.files += n
}

// after is what all take from now on until they are done: less than nothing where they take longer
// than was predicted.
func (c *crowd) after(now time.Time) time.Duration {
	return c.left - time.Duration(c.files)*now.Sub(c.since)
}

// gone is how long it takes until none is there any more, if none comes.
func (c *crowd) gone(now time.Time) time.Duration {
	return max(c.after(now), 0) / time.Duration(max(c.files, c.side))
}

// during is what it was on average while a file was there that came when it had summed up to
// before.
func (c *crowd) during(took, before time.Duration) float64 {
	return max(1, float64(c.sum-before)/float64(max(took, 1)))
}

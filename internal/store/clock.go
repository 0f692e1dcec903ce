package store

import (
	"sync/atomic"
	"time"
)

// clock is the database's, as this process knows it: what the database said last, and
// how long ago that was by a clock that nobody can set. Before the first word it is
// the machine's. It is safe for concurrent use.
type clock struct{ last atomic.Pointer[reading] }

// reading is the time by the database at a moment of this process.
type reading struct{ told, moment time.Time }

func (r reading) at(moment time.Time) time.Time { return r.told.Add(moment.Sub(r.moment)) }

func (c *clock) now() time.Time {
	if r := c.last.Load(); r != nil {
		return r.at(time.Now())
	}
	return time.Now()
}

// hear takes what the database said since it was asked. How much of that time has
// passed since it spoke is not known: the clock stays as it is where it may be right,
// so that it does not go back with each answer that takes long.
func (c *clock) hear(said, asked time.Time) {
	moment := time.Now()
	earliest, latest := said, said.Add(moment.Sub(asked))
	told := earliest
	if r := c.last.Load(); r != nil {
		told = r.at(moment)
	}
	if told.Before(earliest) {
		told = earliest
	}
	if told.After(latest) {
		told = latest
	}
	c.last.Store(&reading{told, moment})
}

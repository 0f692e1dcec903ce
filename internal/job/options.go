package job

import (
	"errors"
	"time"
)

// Options bounds a Runner.
type Options struct {
	Workers    int           // jobs running at the same time
	Queue      int           // jobs waiting
	Deadline   time.Duration // for one job, from its start
	RetryAfter time.Duration // told to a client when the queue is full
}

// DefaultOptions suit one machine.
func DefaultOptions() Options {
	return Options{Workers: 4, Queue: 256, Deadline: 10 * time.Minute, RetryAfter: 10 * time.Second}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Workers < 1:
		return errors.New("jobs: workers must be at least 1")
	case o.Queue < 1:
		return errors.New("jobs: queue must be at least 1")
	case o.Deadline <= 0:
		return errors.New("jobs: deadline must be positive")
	case o.RetryAfter <= 0:
		return errors.New("jobs: retry after must be positive")
	}
	return nil
}

package job

import (
	"errors"
	"runtime"
	"time"
)

// Options bounds a Runner.
type Options struct {
	Workers    int           // jobs running at the same time, a quarter as many films beside them, and one more during which a process has ended; 0: this process accepts jobs and runs none
	Queue      int           // jobs waiting
	Attempts   int           // of one job, before it is given up
	Retry      time.Duration // before the second attempt; before the n-th it is (n-1)² times that
	Deadline   time.Duration // for one attempt's analysis, from when its turn has come, and for fetching the upload before
	RetryAfter time.Duration // told to a client when the queue is full
	Shared     bool          // other processes may be parking uploads in the same place: at the start none is taken for left behind
	Adopt      bool          // uploads wait here from now on, although those of jobs that wait are elsewhere; those fail
	Observer   Observer      // may be nil
}

// DefaultOptions suit one machine. As many jobs run as it has places for files without a GPU
// (placesEach in cmd/deepfaked): fewer leave its sessions idle while results are synced to disk.
func DefaultOptions() Options {
	return Options{Workers: min(4*runtime.GOMAXPROCS(0), 1024), Queue: 256, Attempts: 3, Retry: time.Second, Deadline: 10 * time.Minute, RetryAfter: 10 * time.Second}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Workers < 0:
		return errors.New("jobs: workers must not be negative")
	case o.Queue < 1:
		return errors.New("jobs: queue must be at least 1")
	case o.Attempts < 1:
		return errors.New("jobs: attempts must be at least 1")
	case o.Retry <= 0:
		return errors.New("jobs: retry must be positive")
	case o.Deadline <= 0:
		return errors.New("jobs: deadline must be positive")
	case o.RetryAfter <= 0:
		return errors.New("jobs: retry after must be positive")
	}
	return nil
}

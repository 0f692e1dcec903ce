package store

import (
	"errors"
	"runtime"
	"time"
)

// Options chooses how the database is used.
type Options struct {
	// Readers bounds the connections that read at the same time.
	Readers int
	// BusyTimeout bounds the wait for another process that is writing.
	BusyTimeout time.Duration
}

// DefaultOptions are durable: a transaction that has been answered survives a
// power failure.
func DefaultOptions() Options {
	return Options{Readers: max(4, runtime.GOMAXPROCS(0)), BusyTimeout: 10 * time.Second}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Readers < 1 || o.Readers > 256:
		return errors.New("store: readers must be between 1 and 256")
	case o.BusyTimeout < time.Millisecond || o.BusyTimeout > 10*time.Minute:
		return errors.New("store: busy timeout must be between 1ms and 10m")
	}
	return nil
}

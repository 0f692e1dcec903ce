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
	// Migrate brings an older schema up to date. Only who holds the folder's
	// Claim may: a service of an older version that is running would go on
	// with a schema that it does not know. Without it an older schema is
	// refused with an *OlderSchemaError. An empty folder is set up either way.
	Migrate bool
}

// DefaultOptions suit the process that has claimed the folder.
func DefaultOptions() Options {
	return Options{Readers: max(4, runtime.GOMAXPROCS(0)), BusyTimeout: 10 * time.Second, Migrate: true}
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

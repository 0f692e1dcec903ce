package store

import (
	"errors"
	"runtime"
	"time"
)

// Options chooses the database and how it is used.
type Options struct {
	// Database is the address of a PostgreSQL database,
	// postgres://USER:PASSWORD@HOST/NAME; empty: SQLite in the data folder.
	Database string
	// Readers bounds the connections that read from SQLite at the same time.
	Readers int
	// Connections bounds those to PostgreSQL, but for one that holds a lock at the
	// start and one that listens for jobs; pool_max_conns in the address goes before it.
	Connections int
	// BusyTimeout bounds the wait for another process that is writing to SQLite,
	// and for PostgreSQL to answer at the start.
	BusyTimeout time.Duration
	// Lost is how long a process on PostgreSQL may be silent before others end
	// what it has begun.
	Lost time.Duration
	// Migrate brings an older schema up to date. On SQLite only who holds the
	// folder's Claim may: a service of an older version that is running would go
	// on with a schema that it does not know. On PostgreSQL such services go on
	// beside it, as its schema only ever grows, but none of them starts again.
	// Without it an older schema is refused with an *OlderSchemaError. An empty
	// folder or database is set up either way.
	Migrate bool
	// Reading says that nothing will be written. A database of SQLite, which must be there, is opened
	// then also where nothing can be written to its folder, such as a backup on a disk that is mounted
	// for reading.
	Reading bool
}

// DefaultOptions suit the process that has claimed the folder.
func DefaultOptions() Options {
	return Options{
		Readers: max(4, runtime.GOMAXPROCS(0)), Connections: 12, BusyTimeout: 10 * time.Second,
		Lost: 20 * time.Second, Migrate: true,
	}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Readers < 1 || o.Readers > 256:
		return errors.New("store: readers must be between 1 and 256")
	case o.Connections < 2 || o.Connections > 1024:
		return errors.New("store: connections must be between 2 and 1024")
	case o.BusyTimeout < time.Millisecond || o.BusyTimeout > 10*time.Minute:
		return errors.New("store: busy timeout must be between 1ms and 10m")
	case o.Lost < 100*time.Millisecond || o.Lost > time.Hour:
		return errors.New("store: lost must be between 100ms and 1h")
	}
	return nil
}

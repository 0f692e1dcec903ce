package spool

import "errors"

// Options says where uploads go and how much room they may take.
type Options struct {
	// Dir is the folder; it is created with mode 0700 when it is missing, and
	// must not be shared with anything else.
	Dir string
	// Park is the folder of parked files, which other processes may share; on
	// another file system than Dir they are copied there. A file that is made in it
	// marks it: while its path leads elsewhere nothing is parked or found lost.
	// Empty: no file can be parked.
	Park string
	// Kept is the folder of uploads that are kept, from which Purge deletes them;
	// it may be absent. Empty: there is none.
	Kept string
	// Keep says that uploads are kept in Kept, which is not Park; it is created when
	// it is missing.
	Keep bool
	// Names begins the names of uploads that are kept. Purge leaves files with
	// others alone: they are not the service's.
	Names string
	// Capacity is what open and parked files together may hold, in bytes; 0 leaves
	// the bound to the file system.
	Capacity int64
	// Memory is how much of it files of up to 16 MiB may hold there in place of in Dir, in bytes;
	// 0: none do.
	Memory int64
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Dir == "":
		return errors.New("spool: dir must be set")
	case o.Keep && o.Kept == "":
		return errors.New("spool: kept must be set where uploads are kept")
	case o.Kept != "" && o.Names == "":
		return errors.New("spool: names must be set where uploads are kept")
	case o.Capacity < 0:
		return errors.New("spool: capacity must not be negative")
	case o.Memory < 0:
		return errors.New("spool: memory must not be negative")
	}
	return nil
}

package sandbox

import "errors"

// Self is this process's own program as a Command: the very file that runs, even
// when its path leads to another version since, or to nothing.
const Self = "/proc/self/exe"

// Options says what to start and how much it may use.
type Options struct {
	Command     []string // the program, by path, and its arguments
	Env         []string // the whole environment, "name=value"
	MemoryBytes uint64   // of address space, libraries included
	FileBytes   uint64   // that any one file, memory files too, may grow to
	CPUSeconds  uint64   // in the whole life of the child
	Files       uint64   // open at a time
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case len(o.Command) == 0:
		return errors.New("sandbox: command must not be empty")
	case o.MemoryBytes == 0:
		return errors.New("sandbox: memory bytes must be positive")
	case o.FileBytes == 0:
		return errors.New("sandbox: file bytes must be positive")
	case o.CPUSeconds == 0:
		return errors.New("sandbox: CPU seconds must be positive")
	case o.Files < 8:
		return errors.New("sandbox: files must be at least 8")
	}
	return nil
}

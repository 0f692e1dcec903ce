package sandbox

import (
	"errors"
	"sync"
)

// excerptBytes bounds what is kept of a child's standard error. The beginning
// is kept: a crash names its reason first, and stacks after it.
const excerptBytes = 4096

// floodBytes is how much of a child's standard error is read at most: to read on and on would cost this process
// as much of the processor as the child takes.
const floodBytes = 16 << 20

// ErrFlood is why a child has ended of which no more was read.
var ErrFlood = errors.New("sandbox: the child has written too much to its standard error")

// excerpt is a writer that keeps the first bytes and swallows what follows, up to a limit.
// It is safe for concurrent use.
type excerpt struct {
	flooded func() // is called beyond the limit

	mu   sync.Mutex
	kept []byte
	read int
}

// Write fails when too much has come since the last Reset.
func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.read += len(p); e.read > floodBytes {
		e.flooded()
		return 0, ErrFlood
	}
	e.kept = append(e.kept, p[:min(len(p), excerptBytes-len(e.kept))]...)
	return len(p), nil
}

// String is what was kept.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.kept)
}

// Flooded says whether more came than is read.
func (e *excerpt) Flooded() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.read > floodBytes
}

// Reset forgets what was kept.
func (e *excerpt) Reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept, e.read = e.kept[:0], 0
}

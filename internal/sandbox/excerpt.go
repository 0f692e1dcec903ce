package sandbox

import "sync"

// excerptBytes bounds what is kept of a child's standard error. The beginning
// is kept: a crash names its reason first, and stacks after it.
const excerptBytes = 4096

// excerpt is a writer that keeps the first bytes and swallows the rest. It is
// safe for concurrent use.
type excerpt struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = append(e.kept, p[:min(len(p), excerptBytes-len(e.kept))]...)
	return len(p), nil
}

// String is what was kept.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.kept)
}

// Reset forgets what was kept.
func (e *excerpt) Reset() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = e.kept[:0]
}

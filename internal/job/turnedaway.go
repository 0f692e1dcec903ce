package job

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// stale is when a place that another process has freed is seen at the latest.
const stale = 250 * time.Millisecond

// turnedAway are the accounts that the queue has had no room for a moment ago. Until a job
// leaves it there is none: whoever goes on sending is refused before anything is written
// to disk or asked of the database, which would take the time in which jobs are run.
// It is safe for concurrent use.
type turnedAway struct {
	mu sync.Mutex
	by map[string]refusal
}

type refusal struct {
	why   error
	until time.Time
}

// refuse says why an account is refused, or nil.
func (t *turnedAway) refuse(account string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.by[account]; time.Now().Before(r.until) {
		return r.why
	}
	return nil
}

// note remembers an error of a submission if it is that there was no room.
func (t *turnedAway) note(account string, err error) {
	if !errors.Is(err, ErrFull) && !errors.Is(err, ErrShare) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(t.by, func(_ string, r refusal) bool { return !now.Before(r.until) })
	if t.by == nil {
		t.by = map[string]refusal{}
	}
	t.by[account] = refusal{err, now.Add(stale)}
}

// clear is called when a job begins, and so has left the queue.
func (t *turnedAway) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.by)
}

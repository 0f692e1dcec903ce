package inference

import "time"

// Observer is told what a Scheduler does. Its executors call it between batches,
// at once: it must be quick and must not block.
type Observer interface {
	// Waited is told, row by row, how long it stood in its queue.
	Waited(model string, wait time.Duration)
	// Ran is told of every batch that succeeded, with the time that filling it
	// is no part of.
	Ran(model string, rows int, took time.Duration)
}

// GateObserver is told how long a file waited before anything was done for it,
// because as many as may be were being analysed. Requests wait for it.
type GateObserver interface {
	Entered(wait time.Duration)
}

// Waiting is how many rows wait in all queues together.
func (s *Scheduler) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// waited tells the observer how long the rows of the next batch have waited.
func (s *Scheduler) waited(model string, rows []row) {
	if s.opts.Observer == nil {
		return
	}
	now := s.opts.Now()
	for _, r := range rows {
		s.opts.Observer.Waited(model, now.Sub(r.ticket.entry.since))
	}
}

// ran tells the observer of a batch.
func (s *Scheduler) ran(model string, rows int, took time.Duration) {
	if s.opts.Observer != nil {
		s.opts.Observer.Ran(model, rows, took)
	}
}

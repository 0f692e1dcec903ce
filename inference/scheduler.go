package inference

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"deepfaked/models"
)

// Runner executes batches of one model. It is used by one goroutine at a time.
type Runner interface {
	// MaxBatch is the largest number of rows of one Run.
	MaxBatch() int
	// Row is the memory of row i of the next batch.
	Row(i int) models.Row
	// Run executes the first n rows and returns their outputs one after the other,
	// each of the same length. The slice is valid until the next call.
	Run(n int) ([]float32, error)
}

// Executor runs batches one after another: it holds one Runner for each model,
// by name. An executor belongs to one goroutine of the scheduler.
type Executor map[string]Runner

// Work is the part of a request that one model has to judge.
type Work struct {
	Model    string
	Rows     int
	Fill     func(row int, dst models.Row) // writes one row; called from a goroutine of the scheduler
	Account  string                        // for fairness; may be empty
	Priority Priority
}

// Scheduler batches the rows of concurrent requests for each model. An idle
// executor takes what is there at once; while all are busy rows gather, so
// batches grow with load alone. DESIGN.md says in which order rows go.
//
// It is safe for concurrent use. Close it to stop its goroutines; it does not
// close the runners.
type Scheduler struct {
	opts   SchedulerOptions
	mu     sync.Mutex
	wake   sync.Cond
	queues map[string]*queue
	owed   map[string]int // rows waiting, by account
	rows   int            // rows waiting, in all queues
	idle   int            // executors that wait for work
	count  int            // executors
	seq    uint64
	closed bool
	done   sync.WaitGroup
}

// NewScheduler starts one goroutine for each executor. All executors must know
// the same models.
func NewScheduler(opts SchedulerOptions, executors []Executor) (*Scheduler, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if len(executors) == 0 {
		return nil, fmt.Errorf("scheduler: there is no executor")
	}
	s := &Scheduler{opts: opts, queues: map[string]*queue{}, owed: map[string]int{}, count: len(executors)}
	s.wake.L = &s.mu
	for name := range executors[0] {
		s.queues[name] = &queue{model: name}
	}
	for _, e := range executors {
		s.done.Go(func() { s.loop(e) })
	}
	return s, nil
}

// Run judges the rows of w and returns their outputs, in order. Rows are
// admitted together or not at all: a SaturatedError says that the queue is full
// or that the predicted wait passes the deadline of ctx. When ctx ends first,
// rows that still wait are dropped unrun; Run returns only once no executor
// calls Fill any more.
func (s *Scheduler) Run(ctx context.Context, w Work) ([]float32, error) {
	if w.Rows == 0 {
		return nil, nil
	}
	t := &ticket{ctx: ctx, work: w, left: w.Rows, over: make(chan struct{})}
	if err := s.admit(t); err != nil {
		return nil, err
	}
	select {
	case <-t.over:
	case <-ctx.Done():
		s.abandon(t)
		<-t.over
	}
	if t.err != nil {
		return nil, t.err
	}
	return t.outputs, nil
}

// Seed records the time that a batch of n rows took at warm-up, so that the
// first predictions rest on a measurement.
func (s *Scheduler) Seed(model string, n int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[model]; q != nil {
		q.observe(n, took)
	}
}

// Close refuses new work, drops what waits with ErrClosed, waits for the batches
// that run and for the executors to end. It is idempotent.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	for _, q := range s.queues {
		for len(q.rows) > 0 {
			s.drop(heap.Pop(&q.rows).(*row), ErrClosed)
		}
	}
	s.wake.Broadcast()
	s.mu.Unlock()
	s.done.Wait()
}

func (s *Scheduler) admit(t *ticket) error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[t.work.Model]
	switch {
	case s.closed:
		return ErrClosed
	case q == nil:
		return fmt.Errorf("scheduler: model %q is not loaded", t.work.Model)
	}
	wait := s.predict(q, t.work.Rows)
	if len(q.rows) > 0 && len(q.rows)+t.work.Rows > s.opts.QueueRows {
		return &SaturatedError{RetryAfter: max(wait, time.Second)}
	}
	now := s.opts.Now()
	deadline, ok := t.ctx.Deadline()
	if !ok {
		deadline = now.Add(math.MaxInt64 / 2)
	} else if late := now.Add(wait).Sub(deadline); late > 0 && s.rows > 0 {
		return &SaturatedError{RetryAfter: max(late, time.Second)}
	}
	t.at = now
	s.push(q, t, now, deadline)
	return nil
}

// push gives every row of t its place. An account's own backlog pushes its next
// row back by the time that backlog costs, which is start-time fair queueing
// with real time as the virtual time.
func (s *Scheduler) push(q *queue, t *ticket, now, deadline time.Time) {
	cost := q.perRow()
	if t.work.Priority == Background {
		now = now.Add(s.opts.BackgroundDelay)
	}
	for i := range t.work.Rows {
		s.seq++
		due := now.Add(time.Duration(s.owed[t.work.Account]) * cost)
		heap.Push(&q.rows, &row{ticket: t, index: i, due: due, deadline: deadline, seq: s.seq})
		s.owed[t.work.Account]++
		s.rows++
	}
	s.wake.Broadcast()
}

// predict is the time until rows more would be done if they went last: what
// waits in all queues, shared by the executors.
func (s *Scheduler) predict(q *queue, rows int) time.Duration {
	var sum time.Duration
	for _, other := range s.queues {
		sum += time.Duration(len(other.rows)) * other.perRow()
	}
	return (sum + time.Duration(rows)*q.perRow()) / time.Duration(s.count)
}

// abandon drops the rows of t that still wait.
func (s *Scheduler) abandon(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[t.work.Model]
	kept := q.rows[:0]
	for _, r := range q.rows {
		if r.ticket == t {
			s.drop(r, t.ctx.Err())
		} else {
			kept = append(kept, r)
		}
	}
	clear(q.rows[len(kept):])
	q.rows = kept
	heap.Init(&q.rows)
}

// drop settles a row that has left its queue without being run.
func (s *Scheduler) drop(r *row, err error) {
	s.leave(r)
	r.ticket.settle(r.index, nil, err)
}

func (s *Scheduler) leave(r *row) {
	s.rows--
	account := r.ticket.work.Account
	if s.owed[account]--; s.owed[account] == 0 {
		delete(s.owed, account)
	}
}

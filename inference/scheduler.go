package inference

import (
	"context"
	"fmt"
	"sync"
	"time"

	"deepfaked/models"
)

// Runner executes batches of one model. It is used by one goroutine at a time.
type Runner interface {
	// Sizes are the numbers of rows that it is warm for, in ascending order. The
	// last is the largest of one Run; any other number is padded to the next size.
	Sizes() []int
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
	More     int                           // rows that will follow, which a prediction counts as if they were there
	Fill     func(row int, dst models.Row) // writes one row; called from a goroutine of the scheduler
	Account  string                        // for fairness; may be empty
	Priority Priority
	// Extent names rows that may share a batch, 0 those that any may join: a model
	// that leaves out what no row of its batch fills answers each row alike only
	// among rows that fill as much.
	Extent int
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
	order  []*queue // the same, by index
	turns  *turns
	rows   int         // that wait, in all queues
	idle   int         // executors that wait for work
	ends   []time.Time // of what each executor runs, as predicted
	busy   utilisation
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
	s := &Scheduler{opts: opts, queues: map[string]*queue{}, ends: make([]time.Time, len(executors))}
	s.wake.L = &s.mu
	for name, r := range executors[0] {
		q := &queue{model: name, index: len(s.order), table: newTable(r.Sizes())}
		s.queues[name], s.order = q, append(s.order, q)
	}
	s.turns = newTurns(len(s.order), opts.BackgroundDelay)
	for i, e := range executors {
		s.done.Go(func() { s.loop(i, e) })
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

// Executors is how many batches run at the same time.
func (s *Scheduler) Executors() int { return len(s.ends) }

// Overdue is for how long the batch that is latest should have been done, 0 when none is
// late. A device that hangs says nothing: that its run does not end is all there is to see.
func (s *Scheduler) Overdue() (late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Now()
	for _, end := range s.ends {
		if !end.IsZero() {
			late = max(late, now.Sub(end))
		}
	}
	return late
}

// Seed records the time that a batch of n rows took at warm-up, so that the
// first predictions rest on a measurement.
func (s *Scheduler) Seed(model string, n int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[model]; q != nil {
		q.table.observe(n, took)
	}
}

// Close refuses new work, drops what waits with ErrClosed, waits for the batches
// that run and for the executors to end. It is idempotent.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	for q, t := s.first(); t != nil; q, t = s.first() {
		s.drop(q, t, ErrClosed)
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
	now := s.opts.Now()
	t.entry = entry{
		payer: payer{t.work.Account, t.work.Priority}, queue: q.index, ticket: t,
		cost: max(q.table.perRow(), 1), rows: t.work.Rows, since: now, deadline: deadlineOf(t.ctx, now),
	}
	if err := s.refuse(q, t, now); err != nil {
		return err
	}
	s.push(q, t)
	return nil
}

func (s *Scheduler) push(q *queue, t *ticket) {
	s.turns.add(&t.entry)
	s.count(q, t.work.Rows)
	for range min(s.idle, t.work.Rows) {
		s.wake.Signal()
	}
}

// abandon drops the rows of t that still wait.
func (s *Scheduler) abandon(t *ticket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.entry.rows > 0 {
		s.drop(s.queues[t.work.Model], t, t.ctx.Err())
	}
}

// drop takes t out of its queue and settles the rows that have not been run.
func (s *Scheduler) drop(q *queue, t *ticket, err error) {
	n := t.entry.rows
	s.turns.drop(&t.entry)
	s.count(q, -n)
	t.fail(n, err)
}

// count says that n more rows wait, or fewer.
func (s *Scheduler) count(q *queue, n int) {
	q.rows += n
	s.rows += n
}

package inference

import (
	"context"
	"errors"
	"sync"
)

// ErrClosed is returned for work that the scheduler can no longer run.
var ErrClosed = errors.New("the scheduler is closed")

// ticket is one call of Scheduler.Run: its rows leave the queue in order and
// settle one by one. What concerns its place in the queue is guarded by the
// scheduler's mutex.
type ticket struct {
	ctx   context.Context //nolint:containedctx // a ticket lives exactly as long as the call that brought the context
	work  Work
	entry entry // of the rows that wait

	over    chan struct{} // closed when every row has settled
	mu      sync.Mutex
	left    int
	outputs []float32 // of all rows; made with the first
	err     error     // the first failure
}

// settle gives row i its output, or its failure.
func (t *ticket) settle(i int, output []float32, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outputs == nil {
		t.outputs = make([]float32, t.work.Rows*len(output))
	}
	copy(t.outputs[min(i*len(output), len(t.outputs)):], output)
	t.end(1, err)
}

// fail settles n rows that were not run.
func (t *ticket) fail(n int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(n, err)
}

func (t *ticket) end(n int, err error) {
	if err != nil && t.err == nil {
		t.err = err
	}
	if t.left -= n; t.left == 0 && n > 0 {
		close(t.over)
	}
}

// dead says why no more rows of t should run; nil when they should.
func (t *ticket) dead() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// queue is what waits for one model.
type queue struct {
	model string
	index int
	rows  int // that wait
	table table
}

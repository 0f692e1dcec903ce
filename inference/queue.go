package inference

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"
)

// ErrClosed is returned for work that the scheduler can no longer run.
var ErrClosed = errors.New("the scheduler is closed")

// ticket is one call of Scheduler.Run: its rows settle one by one.
type ticket struct {
	ctx     context.Context //nolint:containedctx // a ticket lives exactly as long as the call that brought the context
	work    Work
	at      time.Time     // of its admission
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
	if err != nil && t.err == nil {
		t.err = err
	}
	if t.left--; t.left == 0 {
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

// row waits in a queue.
type row struct {
	ticket   *ticket
	index    int
	due      time.Time // virtual time of arrival: the order of service
	deadline time.Time
	seq      uint64
}

// rowHeap orders rows by due time, then deadline, then arrival.
type rowHeap []*row

func (h rowHeap) Len() int      { return len(h) }
func (h rowHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *rowHeap) Push(x any)   { *h = append(*h, x.(*row)) }

func (h *rowHeap) Pop() any {
	old := *h
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return r
}

func (h rowHeap) Less(i, j int) bool { return h[i].before(h[j]) }

func (r *row) before(o *row) bool {
	if c := r.due.Compare(o.due); c != 0 {
		return c < 0
	}
	if c := r.deadline.Compare(o.deadline); c != 0 {
		return c < 0
	}
	return r.seq < o.seq
}

// queue holds the rows that wait for one model, and what batches of it cost.
type queue struct {
	model   string
	rows    rowHeap
	latency []time.Duration // by batch size, moving average; 0: not seen
}

// smoothing is the weight of the newest latency in the moving average.
const smoothing = 0.2

// observe records that a batch of n rows took so long.
func (q *queue) observe(n int, took time.Duration) {
	for len(q.latency) <= n {
		q.latency = append(q.latency, 0)
	}
	if old := q.latency[n]; old != 0 {
		took = time.Duration(math.Round(smoothing*float64(took) + (1-smoothing)*float64(old)))
	}
	q.latency[n] = took
}

// perRow is the time of one row in the largest batch seen: what a row costs
// when there is load, which is when it matters.
func (q *queue) perRow() time.Duration {
	for n := len(q.latency) - 1; n > 0; n-- {
		if q.latency[n] > 0 {
			return q.latency[n] / time.Duration(n)
		}
	}
	return 0
}

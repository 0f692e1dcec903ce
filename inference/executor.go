package inference

import (
	"container/heap"
	"fmt"
	"math"
	"time"
)

// loop is the life of one executor: take what is there, run it, again.
func (s *Scheduler) loop(e Executor) {
	batch := make([]*row, 0, 64)
	for {
		q, rows := s.take(e, batch[:0])
		if q == nil {
			return
		}
		s.waited(q.model, rows)
		s.execute(q, e[q.model], rows)
		clear(rows) // a finished ticket must not be kept alive by the buffer
	}
}

// take waits for work and removes the next batch from its queue. It returns nil
// once the scheduler is closed.
func (s *Scheduler) take(e Executor, batch []*row) (*queue, []*row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle++
	defer func() { s.idle-- }()
	for {
		if q := s.next(); q != nil {
			if batch = s.cut(q, e[q.model].MaxBatch(), batch); len(batch) > 0 {
				return q, batch
			}
			continue
		}
		if s.closed {
			return nil, nil
		}
		s.wake.Wait()
	}
}

// next is the queue whose first row is due before all others.
func (s *Scheduler) next() *queue {
	var best *queue
	for _, q := range s.queues {
		if len(q.rows) > 0 && (best == nil || q.rows[0].before(best.rows[0])) {
			best = q
		}
	}
	return best
}

// cut takes the rows of one batch: the most the runner holds, but no more than
// this executor's share while others stand idle. Rows whose caller has gone are
// dropped on the way.
func (s *Scheduler) cut(q *queue, most int, batch []*row) []*row {
	share := (len(q.rows) + s.idle - 1) / s.idle
	for len(q.rows) > 0 && len(batch) < min(most, share) {
		r := heap.Pop(&q.rows).(*row)
		if err := r.ticket.dead(); err != nil {
			s.drop(r, err)
			continue
		}
		s.leave(r)
		batch = append(batch, r)
	}
	return batch
}

// execute runs rows as one batch and settles each. A batch that fails is halved
// until the row that spoils it stands alone.
func (s *Scheduler) execute(q *queue, runner Runner, rows []*row) {
	var outputs []float32
	var start time.Time
	err := guarded(func() (err error) {
		for i, r := range rows {
			r.ticket.work.Fill(r.index, runner.Row(i))
		}
		start = s.opts.Now()
		outputs, err = runner.Run(len(rows))
		return err
	})
	each := len(outputs) / len(rows)
	if err == nil && each == 0 {
		err = fmt.Errorf("model %s: %d results for %d rows", q.model, len(outputs), len(rows))
	}
	if err != nil {
		s.bisect(q, runner, rows, err)
		return
	}
	took := s.opts.Now().Sub(start)
	s.mu.Lock()
	q.observe(len(rows), took)
	s.mu.Unlock()
	s.ran(q.model, len(rows), took)
	for i, r := range rows {
		output := outputs[i*each : (i+1)*each]
		r.ticket.settle(r.index, output, finite(q.model, output))
	}
}

func (s *Scheduler) bisect(q *queue, runner Runner, rows []*row, err error) {
	if len(rows) == 1 {
		rows[0].ticket.settle(rows[0].index, nil, fmt.Errorf("model %s: %w", q.model, err))
		return
	}
	half := len(rows) / 2
	s.execute(q, runner, rows[:half])
	s.execute(q, runner, rows[half:])
}

// finite refuses what is no number: no score is invented.
func finite(model string, output []float32) error {
	for _, z := range output {
		if v := float64(z); math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("model %s: the result %v is not a number", model, z)
		}
	}
	return nil
}

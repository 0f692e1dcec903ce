package inference

import (
	"fmt"
	"math"
	"runtime"
	"time"
)

// row is one of a ticket's, on its way through an executor.
type row struct {
	ticket *ticket
	index  int
}

// loop is the life of one executor: take what is there, run it, again.
func (s *Scheduler) loop(id int, e Executor) {
	if s.opts.LockThreads {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
	}
	batch := make([]row, 0, 64)
	for began := s.opts.Now(); ; {
		q, rows := s.take(id, began, batch[:0])
		began = s.opts.Now()
		if q == nil {
			return
		}
		s.waited(q.model, rows)
		s.execute(q, e[q.model], rows)
		clear(rows) // a finished ticket must not be kept alive by the buffer
		batch = rows
	}
}

// take waits for work and removes the next batch from its queue; began is when this executor
// took the last one. It returns nil once the scheduler is closed.
func (s *Scheduler) take(id int, began time.Time, batch []row) (*queue, []row) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.opts.Now()
	defer func() { s.busy.observe(ended.Sub(began), s.opts.Now().Sub(ended), len(s.ends)) }()
	s.idle++
	defer func() { s.idle-- }()
	for {
		if q, t := s.first(); t != nil {
			s.turns.serve(&t.entry)
			if batch = s.cut(id, q, t, batch); len(batch) > 0 {
				s.ends[id] = s.opts.Now().Add(q.table.of(len(batch)))
				return q, batch
			}
			continue
		}
		s.ends[id] = time.Time{}
		if s.closed {
			return nil, nil
		}
		s.wake.Wait()
	}
}

// first is whose turn it is, with its queue; nil when nobody waits.
func (s *Scheduler) first() (q *queue, t *ticket) {
	if s.rows == 0 {
		return nil, nil
	}
	now := s.opts.Now()
	for i, other := range s.order {
		if e := s.turns.first(i, now, true); e != nil && (t == nil || s.turns.precedes(e, &t.entry, now)) {
			q, t = other, e.ticket
		}
	}
	return q, t
}

// cut takes the rows of one batch: as many as are best run at once, but no more
// than this executor's share while others stand idle, or soon do. Rows whose caller
// has gone are dropped on the way. It is the turn of t: where nothing else waits a large batch
// holds nobody up.
func (s *Scheduler) cut(id int, q *queue, t *ticket, batch []row) []row {
	share, most, now := (q.rows+s.idle-1)/s.idle, q.table.most(), s.opts.Now()
	if s.rows > t.entry.rows {
		most = q.table.grown(s.busy.burden() * float64(s.rows) / float64(len(s.ends)))
	}
	n := q.table.stale(share)
	if n == 0 {
		n = q.table.whole(q.table.fit(share, q.rows, most), &t.entry)
	}
	if n == s.rows {
		n = s.leave(id, q, n, now)
	}
	for len(batch) < n {
		e := s.next(q, batch, n, now)
		if e == nil {
			break
		}
		if err := e.ticket.dead(); err != nil {
			s.drop(q, e.ticket, err)
			continue
		}
		batch = append(batch, row{e.ticket, e.ticket.work.Rows - e.rows})
		s.turns.take(e)
		s.count(q, -1)
	}
	return batch
}

// leave is how many of n rows, the last that wait, executor id takes where another one
// will be done so soon that all of them are done sooner if it runs the rest: n if none is.
func (s *Scheduler) leave(id int, q *queue, n int, now time.Time) int {
	soonest := time.Duration(math.MaxInt64)
	for other, end := range s.ends {
		if other != id {
			soonest = min(soonest, max(end.Sub(now), 0))
		}
	}
	took, least := n, q.table.of(n)
	for _, m := range q.table.sizes {
		if m >= n {
			break
		}
		own := q.table.of(m)
		if done := min(soonest, own) + q.table.of(n-m); max(own, done) < least {
			took, least = m, max(own, done)
		}
	}
	return took
}

// next is whose row joins the batch of n: whose turn it is, but that who gave the last one goes on
// where all its rows find room, or where the others may not share the batch. Ending the batch
// there would make one of each row, as turns change with every row. It is nil when the batch is as large as it gets.
func (s *Scheduler) next(q *queue, batch []row, n int, now time.Time) *entry {
	e := s.turns.first(q.index, now, true)
	if e == nil || len(batch) == 0 {
		return e
	}
	last := batch[len(batch)-1].ticket
	switch {
	case last.entry.rows > 0 && last.entry.rows <= n-len(batch):
		return &last.entry
	case e.ticket.work.Extent == last.work.Extent:
		return e
	case last.entry.rows > 0:
		return &last.entry
	}
	return nil
}

// execute runs rows as one batch and settles each. A batch that fails is halved
// until the row that spoils it stands alone.
func (s *Scheduler) execute(q *queue, runner Runner, rows []row) {
	var outputs []float32
	var start time.Time
	err := guarded(func() (err error) {
		for i, r := range rows {
			r.ticket.work.Fill(r.index, runner.Row(i))
		}
		q.pad(runner, rows)
		if s.opts.Computing != nil && s.expected(q, len(rows)) >= brief {
			defer s.opts.Computing()()
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
	q.table.observe(len(rows), took)
	s.mu.Unlock()
	s.ran(q.model, len(rows), took)
	for i, r := range rows {
		output := outputs[i*each : (i+1)*each]
		r.ticket.settle(r.index, output, finite(q.model, output))
	}
}

// brief is what a run takes that ends within one of the kernel's own time slices, .7 ms and more with
// more processors: Computing would gain nothing and cost a row some 25 µs.
const brief = time.Millisecond

// expected is how long n rows take, 0 as long as nothing has been seen.
func (s *Scheduler) expected(q *queue, n int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.table.of(n)
}

// pad repeats the last row to the size that the batch is run in, where answers depend on
// what is beside a row: an earlier batch may have left a row of another extent there.
func (q *queue) pad(runner Runner, rows []row) {
	last := rows[len(rows)-1]
	if last.ticket.work.Extent == 0 {
		return
	}
	for i := len(rows); i < q.table.sizes[q.table.up(len(rows))]; i++ {
		last.ticket.work.Fill(last.index, runner.Row(i))
	}
}

func (s *Scheduler) bisect(q *queue, runner Runner, rows []row, err error) {
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

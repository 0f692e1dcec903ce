package inference

import "time"

// refuse says whether t would wait in vain. What finds enough executors idle is
// never refused, so that a prediction that was too high is put right.
func (s *Scheduler) refuse(q *queue, t *ticket, now time.Time) error {
	full := q.rows > 0 && q.rows+t.work.Rows > s.opts.QueueRows
	if !full && s.rows == 0 && s.idle >= min(t.work.Rows, len(s.ends)) {
		return nil
	}
	wait := s.predict(q, t, now)
	late := func() bool { return now.Add(wait).After(t.entry.deadline) }
	if late() && s.turns.others(t.entry.payer) {
		wait = s.inTurn(q, t, now)
	}
	if full || late() {
		return &SaturatedError{RetryAfter: max(wait, time.Second)}
	}
	return nil
}

// predict is at most the time until t would be done if it went last: Graham's
// bound for work beside which no executor stands idle (Bounds on multiprocessing
// timing anomalies, 1969).
func (s *Scheduler) predict(q *queue, t *ticket, now time.Time) time.Duration {
	sum := s.remaining(now)
	for _, other := range s.queues {
		rows := other.rows
		if other == q {
			rows += t.work.Rows + t.work.More
		}
		sum += other.table.span(rows)
	}
	return s.shared(q, sum)
}

// inTurn is about the same for t in its turn: what others have waiting beyond
// their shares does not hold it up.
func (s *Scheduler) inTurn(q *queue, t *ticket, now time.Time) time.Duration {
	return s.shared(q, s.remaining(now)+s.turns.ahead(&t.entry, every, now)+q.table.span(t.work.Rows+t.work.More))
}

// remaining is what executors have still to do of what they run.
func (s *Scheduler) remaining(now time.Time) (sum time.Duration) {
	for _, end := range s.ends {
		sum += max(end.Sub(now), 0)
	}
	return sum
}

// shared is when the last batch is done of work that takes sum in all.
func (s *Scheduler) shared(q *queue, sum time.Duration) time.Duration {
	last := q.table.of(q.table.most())
	return last + max(sum-last, 0)/time.Duration(len(s.ends))
}

package inference

import "time"

// Whether a file is refused, which is told at once: what it would wait for, and whether it would
// be done in time.

// doubt is what part of a predicted time a file may take longer. Those let in
// right up to their deadline would be judged for nothing every other time.
const doubt = 4

// refuse says whether an interactive file would wait for longer than it may, or
// beyond its deadline. Background work has no caller who waits: whoever submits
// it bounds it.
func (g *gate) refuse(v *visit, now time.Time) error {
	l := &g.lines[v.entry.queue]
	if l.waiting == l.aside {
		l.empty = now
		if g.may(v) && g.room(v) && !g.barred(v, now) {
			if v.aside = true; !g.crowded(v, now) {
				return nil
			}
		}
	}
	wait, patience := g.predict(v, now), g.patience(v, now)
	end := wait + g.believed(v, now)
	late := now.Add(end + end/doubt).Sub(v.entry.deadline)
	if late <= 0 && wait <= patience && l.waiting < g.opts.Waiting {
		return nil
	}
	if v.aside { // it may wait for fewer to run when it comes back towards that
		wait = max(late-late/(doubt+1), wait-patience)
	}
	return &SaturatedError{RetryAfter: max(wait, time.Second)}
}

// barred says that v would wait behind a job that waits for places to become free.
func (g *gate) barred(v *visit, now time.Time) bool {
	job := g.turns.before(v.entry.payer, v.entry.queue, now)
	return job != nil && !g.shared(job.visit)
}

// again is how soon a file is let in for which there may not be the time, to see: a
// prediction that was too high is put right by nothing else.
const again = 10 * time.Second

// crowded says whether a person's file that finds a place would be done beyond its deadline, beside
// those of its line that are there. It never is as the only one of a person. That files take less time
// where fewer run than had when they were seen may not hold: nobody waits for that.
func (g *gate) crowded(v *visit, now time.Time) bool {
	seen, known := g.costs.near(v.class)
	if !known || g.lines[v.entry.queue].running[Interactive] == 0 || g.untried(v.class, now) {
		return false
	}
	crowd := g.lines[v.entry.queue].crowd.with(1)
	if v.entry.since.Before(now) {
		crowd = max(crowd, seen.crowd)
	}
	end := seen.in(crowd)
	return now.Add(end + end/doubt).After(v.entry.deadline)
}

// among is how long v takes as one more of those that run of its line.
func (g *gate) among(v *visit) time.Duration {
	if seen, known := g.costs.near(v.class); known {
		return seen.in(g.lines[v.entry.queue].crowd.with(1))
	}
	return g.thought(v)
}

// holds says that e waits until fewer run: beside them it would be done too late, without them in time.
func (g *gate) holds(e *entry, now time.Time) bool {
	return e.visit.aside && g.crowded(e.visit, now) && !g.isLate(e, now)
}

// untried says that no file of a class was let in for a while, and none of people runs, which will
// tell how long they take: of those that run for longer than a while each would be let in, to see.
func (g *gate) untried(c class, now time.Time) bool {
	return g.trying[c] == 0 && now.Sub(g.tried[c]) >= again
}

// believed is how long v takes where it may be refused for that: no time where none of its class
// is tried.
func (g *gate) believed(v *visit, now time.Time) time.Duration {
	if g.untried(v.class, now) {
		return 0
	}
	return g.thought(v)
}

// patience is the longest wait at present. A burst may wait for long, since it
// passes; where the line has not been empty for a while, a long line helps
// nobody: it would only make everybody late. For what takes long, or is among what does,
// that is as long as it takes: else a film would not even wait for one like it.
func (g *gate) patience(v *visit, now time.Time) time.Duration {
	l := &g.lines[v.entry.queue]
	standing := max(g.opts.Wait, l.inside/g.places(v), v.entry.cost/time.Duration(v.places))
	if now.Sub(l.empty) > standing {
		return min(standing, g.opts.Burst)
	}
	return g.opts.Burst
}

// predict is how long v would wait: for the half of what runs of its line, and for all
// that waits and goes before it. What waits for fewer to run waits for all of these, one by one
// of as many as do not slow each other down.
func (g *gate) predict(v *visit, now time.Time) time.Duration {
	l := &g.lines[v.entry.queue]
	ahead := g.turns.ahead(&v.entry, v.entry.queue, now)
	if seen, known := g.costs.near(v.class); known && v.aside {
		ahead /= time.Duration(v.places * l.crowd.side)
		return l.crowd.gone(now) + cost{ahead, seen.crowd}.in(1)
	}
	return (l.inside/2 + ahead) / g.places(v)
}

// places is by how many places files like v go: quick ones by those that long ones leave,
// long ones by as many as they may have and can fill.
func (g *gate) places(v *visit) time.Duration {
	n := g.most() - g.most()%v.places
	if v.entry.queue == quick {
		n = g.opts.Parallel - g.held()
	}
	return time.Duration(max(n, 1))
}

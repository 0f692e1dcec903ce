package inference

import (
	"context"
	"sync"
	"time"
)

// gate bounds the files that are decoded and judged at the same time, and how
// long others wait for that. Frames of a decoded file take memory, so files wait
// here, undecoded. It is safe for concurrent use.
type gate struct {
	opts    DetectorOptions
	mu      sync.Mutex
	turns   *turns // of the files that wait, in two queues
	lines   [2]line
	running int // places taken
	costs   costs
	tried   map[class]time.Time // when one was let in last
	trying  map[class]int       // those of people that run
}

// The two queues.
const (
	long  = iota // files that may hold their places for long
	quick        // files that give them back within briefly, as far as is known
)

// line is one of them, with what runs of it.
type line struct {
	waiting int           // interactive files
	aside   int           // of these, those that wait for fewer to run only
	empty   time.Time     // when none waited last
	running [2]int        // places taken, by priority
	inside  time.Duration // predicted cost of all that run
	crowd   crowd         // of all that run
}

// briefly is the time of a quick file at most. What waits for its places goes on soon.
const briefly = 500 * time.Millisecond

// visit is one file's way through the gate.
type visit struct {
	entry  entry // while it waits; its cost is that of its places together
	class  class
	places int
	turn   chan struct{} // closed when it may run, or there is a reason why it may not
	aside  bool          // it found a place: if it waits, then for fewer to run
	start  time.Time     // when it began to
	end    time.Time     // when it would be done, as predicted then
	before time.Duration // what the crowd of its line summed up to then
	most   time.Duration // that it will be believed to have taken
	anew   bool          // its class was untried
	last   time.Time     // when one of it was let in before
	late   error         // that reason

	admitted bool // or not, as its caller has heard
	out      bool // it was left out until then
}

func newGate(opts DetectorOptions) *gate {
	now := time.Now()
	l := line{empty: now, crowd: crowd{side: opts.Side, since: now}}
	return &gate{opts: opts, turns: newTurns(2, opts.BackgroundDelay), lines: [2]line{l, l}, costs: costs{}, tried: map[class]time.Time{}, trying: map[class]int{}}
}

// enter waits for a place. The caller gives it back by calling leave once, and says
// whether the file was judged: what ended before tells little of what it takes. A
// *SaturatedError says at once that the wait would be too long, or, where others took
// longer than was to be seen, that it was.
func (g *gate) enter(ctx context.Context, req Request) (leave func(judged bool), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	asked := time.Now()
	v := &visit{class: classOf(req), turn: make(chan struct{})}
	v.places = g.takes(v.class)
	v.entry = entry{payer: payer{req.Account, req.Priority}, visit: v, rows: 1}
	if err := g.queue(ctx, v); err != nil {
		return nil, err
	}
	if err := g.admit(ctx, req, v); err != nil {
		return nil, err
	}
	if req.Priority == Background {
		defer time.AfterFunc(g.opts.BackgroundDelay, g.ripened).Stop()
	}
	select {
	case <-v.turn:
	case <-ctx.Done():
		g.abandon(v)
		err = ctx.Err()
	}
	if v.late != nil {
		return nil, v.late
	}
	if err != nil {
		return nil, err
	}
	if g.opts.Observer != nil {
		g.opts.Observer.Entered(time.Since(asked))
	}
	return func(judged bool) { g.leave(v, judged) }, nil
}

// alone says whether a file that was let in for req is the only one, and none waits.
func (g *gate) alone(req Request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.running == g.takes(classOf(req)) && g.lines[long].waiting+g.lines[quick].waiting == 0
}

// takes is how many places a file of a class takes.
func (g *gate) takes(c class) int {
	if c.film() {
		return min(g.opts.Film, g.opts.Parallel)
	}
	return 1
}

// queue gives the file its place in the line, unless its wait would be too long.
func (g *gate) queue(ctx context.Context, v *visit) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	v.entry.queue, v.aside = g.lineOf(v), false
	took := max(g.thought(v), 1)
	v.entry.cost, v.entry.since, v.entry.deadline = took*time.Duration(v.places), now, deadlineOf(ctx, now)
	if v.entry.payer.priority == Interactive {
		if err := g.refuse(v, now); err != nil {
			return err
		}
		g.lines[v.entry.queue].wait(v, 1)
	}
	g.turns.resume(v.entry.payer, v.entry.queue)
	g.turns.add(&v.entry)
	g.dispatch(now)
	return nil
}

// lineOf is the line of a file. Of what has not been seen before, films and jobs may take long.
func (g *gate) lineOf(v *visit) int {
	near, known := g.costs.near(v.class)
	if near.took > briefly || !known && (v.class.film() || v.entry.payer.priority == Background) {
		return long
	}
	return quick
}

// thought is how long v takes, as far as is known. What nothing is known of is taken for the mean of all,
// but for no longer than its line stands for.
func (g *gate) thought(v *visit) time.Duration {
	seen, known := g.costs.near(v.class)
	switch {
	case known:
		return seen.took
	case v.entry.queue == quick:
		return min(g.costs.mean(), briefly)
	}
	return g.costs.mean()
}

// most is how many places long files may have: they leave a quarter to quick ones.
func (g *gate) most() int { return g.opts.Parallel - g.opts.Parallel/4 }

// held is how many they have.
func (g *gate) held() int {
	running := g.lines[long].running
	return running[Interactive] + running[Background]
}

// room says whether there are places for v.
func (g *gate) room(v *visit) bool { return g.running+v.places <= g.opts.Parallel }

// dispatch lets in who is next as long as there are places. Nobody slips past one who
// needs more of them.
func (g *gate) dispatch(now time.Time) {
	for g.running < g.opts.Parallel {
		e := g.next(now)
		if e == nil {
			break
		}
		if g.isLate(e, now) {
			g.turnAway(e, now)
			continue
		}
		if !g.room(e.visit) {
			break
		}
		g.turns.serve(e)
		g.turns.take(e)
		e.visit.anew, e.visit.last = g.untried(e.visit.class, now), g.tried[e.visit.class]
		e.visit.end = now.Add(g.among(e.visit))
		g.count(e.visit, 1, now)
		e.visit.start, e.visit.before = now, g.lines[e.queue].crowd.sum
		e.visit.most = g.costs.credible(e.visit.class)
		g.tried[e.visit.class] = now
		close(e.visit.turn)
	}
	for i := range g.lines {
		if g.lines[i].waiting == g.lines[i].aside {
			g.lines[i].empty = now
		}
	}
}

// ripened lets in a job that has waited for long enough to take turns. Nothing else may end for minutes
// that would: places may be free beside films, and a person's film wait for fewer of them.
func (g *gate) ripened() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dispatch(time.Now())
}

// next is whose turn it is of those who may be let in. People go past jobs that have their
// share, but not past one that only waits for the places of long files to become free:
// they would take each as it does. Other people go past one that waits for fewer to run: a picture need
// not wait for a film to end because another film does.
func (g *gate) next(now time.Time) (next *entry) {
	for queue := range g.lines {
		e := g.turns.first(queue, now, true)
		if e != nil && e.payer.priority == Background && g.shared(e.visit) {
			e = g.turns.first(queue, now, false)
		}
		if e != nil && g.holds(e, now) {
			e = g.turns.other(queue, func(e *entry) bool { return !g.holds(e, now) })
		}
		if e != nil && g.may(e.visit) && (next == nil || g.turns.precedes(e, next, now)) {
			next = e
		}
	}
	return next
}

// may says whether there may be one more like v. Long files leave a quarter of the places to
// quick ones, and those of jobs half to people, who would wait for the end of a film
// otherwise; so would the only one of a person where jobs have the rest of what long files
// may have. A file that needs more than that runs as the only one.
func (g *gate) may(v *visit) bool {
	running := g.lines[long].running
	switch {
	case v.entry.queue == quick:
		return true
	case running[v.entry.payer.priority] == 0 && v.entry.payer.priority == Interactive:
		return true
	case v.entry.payer.priority == Background && g.shared(v):
		return false
	}
	return g.held() == 0 || g.held()+v.places <= g.most()
}

// shared says that jobs have what they may have beside people, and v would be more.
func (g *gate) shared(v *visit) bool {
	n := g.lines[long].running[Background]
	return v.entry.queue == long && n > 0 && n+v.places > g.opts.Parallel/2
}

// isLate says whether a file that has waited would be done after its deadline. The
// processors may be slower than they were when it was let into the line; to begin all
// the same would end in no answer to anybody. Background work has no caller who waits.
func (g *gate) isLate(e *entry, now time.Time) bool {
	end := now.Add(g.believed(e.visit, now))
	return e.payer.priority == Interactive && e.since.Before(now) && !end.Before(e.deadline)
}

// turnAway takes out a file that has waited in vain.
func (g *gate) turnAway(e *entry, now time.Time) {
	g.drop(e)
	e.visit.late = &SaturatedError{RetryAfter: max(g.predict(e.visit, now), time.Second)}
	close(e.visit.turn)
}

// drop takes out a file that waits.
func (g *gate) drop(e *entry) {
	g.turns.drop(e)
	if e.payer.priority == Interactive {
		g.lines[e.queue].wait(e.visit, -1)
	}
}

// count says that v runs now, or, with -1, that it does no longer.
func (g *gate) count(v *visit, n int, now time.Time) {
	l := &g.lines[v.entry.queue]
	l.crowd.add(n, v.end.Sub(now), now)
	g.running += n * v.places
	l.running[v.entry.payer.priority] += n * v.places
	l.inside += time.Duration(n) * v.entry.cost
	if v.entry.payer.priority == Interactive {
		g.trying[v.class] += n
		if n > 0 {
			l.wait(v, -1)
		}
	}
}

// wait says that v waits, or, with -1, that it does no longer.
func (l *line) wait(v *visit, n int) {
	l.waiting += n
	if v.aside {
		l.aside += n
	}
}

// abandon takes out a file whose caller has gone, or has waited until its deadline,
// perhaps after its turn came.
func (g *gate) abandon(v *visit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	switch {
	case v.late != nil:
	case v.entry.rows == 0:
		g.takeBack(v, now)
	case g.isLate(&v.entry, now):
		g.turnAway(&v.entry, now)
	default:
		g.drop(&v.entry)
	}
	g.dispatch(now)
}

// leave frees the place of v. What it took is remembered when it was judged; when it was
// not, as with a damaged file, at most that such files take longer than they were thought
// to, and of those that nothing was known of that they are not quick.
func (g *gate) leave(v *visit, judged bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.count(v, -1, now)
	took := now.Sub(v.start)
	// What was let in to see whether it takes as long as it is thought to may take far less.
	g.turns.charge(v.entry.payer, took*time.Duration(v.places)-v.entry.cost)
	seen := cost{min(took, v.most), g.lines[v.entry.queue].crowd.during(took, v.before)}
	was, known := g.costs.near(v.class)
	thought := was.in(seen.crowd)
	if !known {
		thought = max(g.thought(v), briefly)
	}
	switch {
	case judged && v.anew:
		g.costs[v.class] = seen // what was seen before may hold no longer
	case judged:
		g.costs.observe(v.class, seen)
	case took > thought:
		seen.took += seen.took / doubt // and it was not done
		g.costs.observe(v.class, seen)
	}
	g.dispatch(now)
}

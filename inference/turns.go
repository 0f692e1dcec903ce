package inference

import (
	"container/heap"
	"context"
	"math"
	"time"
)

// payer is who waits behind work of its own: an account, which does not wait for
// its own background work, though.
type payer struct {
	account  string
	priority Priority
}

// entry is work of one payer in one of several queues: rows of the same cost.
// What concerns turns is guarded by the mutex of its owner.
type entry struct {
	payer    payer
	queue    int
	cost     time.Duration // of a row, as predicted
	rows     int           // that still wait
	since    time.Time     // when it came
	deadline time.Time
	seq      uint64
	ticket   *ticket // in the scheduler
	visit    *visit  // at the gate
	in       *lane   // nil when nothing waits any more
	prev     *entry
	next     *entry
}

// deadlineOf is that of ctx, or far away.
func deadlineOf(ctx context.Context, now time.Time) time.Time {
	if deadline, ok := ctx.Deadline(); ok {
		return deadline
	}
	return now.Add(math.MaxInt64 / 2)
}

// turns decides whose turn it is. It is start-time fair queueing (Goyal et al.,
// SIGCOMM 1996): each payer has a tag, the cost of what it has been served, and
// the lowest goes first, wherever its work is; who comes starts with the tag of
// who is being served, or with its own of before where that is higher. Work of one
// payer in one queue goes in the order in which it came. Background work goes when
// there is nothing else or when it has waited for delay; then it takes turns with the
// others, as one more payer. So nothing starves.
//
// It is not safe for concurrent use.
type turns struct {
	delay   time.Duration
	flows   map[payer]*flow         // of those that wait
	lanes   [2][]laneHeap           // by priority and queue
	virtual time.Duration           // tag of who was served last
	ended   map[payer]time.Duration // tags of those of whom nothing waits, while others have waited all along
	latest  time.Duration           // the highest that there has been of these
	seq     uint64
	spare   []*flow
}

// flow is all that waits of one payer.
type flow struct {
	payer payer
	tag   time.Duration
	owed  time.Duration // cost of what waits
	rows  int
	lanes []lane // by queue
}

// lane is what waits of one payer in one queue, in order.
type lane struct {
	flow *flow
	owed time.Duration // cost of what waits
	head *entry
	tail *entry
	at   int // in the heap of its queue, while there is a head
}

func newTurns(queues int, delay time.Duration) *turns {
	return &turns{
		delay: delay, flows: map[payer]*flow{}, ended: map[payer]time.Duration{},
		lanes: [2][]laneHeap{make([]laneHeap, queues), make([]laneHeap, queues)},
	}
}

// add has e wait.
func (t *turns) add(e *entry) {
	f := t.flows[e.payer]
	if f == nil {
		f = t.flow(e.payer)
	}
	t.seq++
	e.seq = t.seq
	f.rows += e.rows
	f.owed += time.Duration(e.rows) * e.cost
	l := &f.lanes[e.queue]
	l.owed += time.Duration(e.rows) * e.cost
	e.in, e.prev = l, l.tail
	if l.head != nil {
		l.tail.next, l.tail = e, e
		return
	}
	l.head, l.tail = e, e
	heap.Push(&t.lanes[e.payer.priority][e.queue], l)
}

// flow begins one; an ended one is used again.
func (t *turns) flow(p payer) *flow {
	var f *flow
	if n := len(t.spare); n > 0 {
		f, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		f = &flow{lanes: make([]lane, len(t.lanes[0]))}
		for i := range f.lanes {
			f.lanes[i].flow = f
		}
	}
	f.payer, f.tag, f.owed = p, t.start(p), 0
	delete(t.ended, p)
	t.flows[p] = f
	return f
}

// start is the tag with which p begins to wait.
func (t *turns) start(p payer) time.Duration { return max(t.virtual, t.ended[p]) }

// end takes out f, of which nothing waits any more. What it has been served counts for
// as long as others wait: else who sends each piece of work as the one before begins
// would go before them every time. Where nobody does, nobody was passed over, and all
// are equal again.
func (t *turns) end(f *flow) {
	delete(t.flows, f.payer)
	t.spare = append(t.spare, f)
	t.latest = max(t.latest, f.tag)
	if len(t.flows) > 0 {
		t.ended[f.payer] = f.tag
		return
	}
	t.virtual = max(t.virtual, t.latest)
	clear(t.ended)
}

// first is whose turn it is in one queue, nil when nobody waits there. Background
// work is left out on demand.
func (t *turns) first(queue int, now time.Time, background bool) *entry {
	people, jobs := t.lanes[Interactive][queue].first(), t.lanes[Background][queue].first()
	switch {
	case !background || jobs == nil:
		return people
	case people == nil || t.ripe(jobs, now) && max(jobs.in.flow.tag, t.virtual) <= people.in.flow.tag:
		return jobs
	}
	return people
}

// other is whose turn it is of people in one queue of those that may go.
func (t *turns) other(queue int, may func(*entry) bool) (first *entry) {
	for _, l := range t.lanes[Interactive][queue] {
		if first != nil && first.in.before(l) {
			continue
		}
		for e := l.head; e != nil; e = e.next {
			if may(e) {
				first = e
				break
			}
		}
	}
	return first
}

// ripe says that background work has waited for long enough to take turns.
func (t *turns) ripe(e *entry, now time.Time) bool {
	return e.payer.priority == Interactive || now.Sub(e.since) >= t.delay
}

// precedes compares the firsts of two queues.
func (t *turns) precedes(a, b *entry, now time.Time) bool {
	if x, y := t.ripe(a, now), t.ripe(b, now); x != y {
		return x
	}
	return a.in.before(b.in)
}

// serve says that it is e's turn.
func (t *turns) serve(e *entry) { t.virtual = max(t.virtual, e.in.flow.tag) }

// take lets one row of e go, which is first in its lane, but for those whose turn it is not.
func (t *turns) take(e *entry) {
	f := e.in.flow
	if e.payer.priority == Background { // its tag stood still while it was not ripe
		f.tag = max(f.tag, t.virtual)
	}
	f.tag += e.cost
	t.settle(e, 1)
	if f.rows > 0 {
		t.fix(f)
	}
}

// before is the background work of a queue that goes before what p would add to it.
func (t *turns) before(p payer, queue int, now time.Time) *entry {
	tag := t.start(p)
	if own := t.flows[p]; own != nil {
		tag = max(own.tag, t.virtual)
	}
	e := t.lanes[Background][queue].first()
	if e == nil || !t.ripe(e, now) || max(e.in.flow.tag, t.virtual) > tag {
		return nil
	}
	return e
}

// charge puts right what p has been served, by what that was more than was thought when its turn
// came, or less. It does not go before who is being served for that.
func (t *turns) charge(p payer, by time.Duration) {
	right := func(tag time.Duration) time.Duration { return max(min(tag, t.virtual), tag+by) }
	if f := t.flows[p]; f != nil {
		f.tag = right(f.tag)
		t.fix(f)
	} else if tag, waited := t.ended[p]; waited {
		t.ended[p] = right(tag)
	}
}

// drop lets all rows of e go unserved.
func (t *turns) drop(e *entry) { t.settle(e, e.rows) }

// settle takes n rows of e out, and e with the last.
func (t *turns) settle(e *entry, n int) {
	f := e.in.flow
	e.rows -= n
	f.rows -= n
	f.owed -= time.Duration(n) * e.cost
	e.in.owed -= time.Duration(n) * e.cost
	if e.rows == 0 {
		t.unlink(e)
	}
	if f.rows == 0 {
		t.end(f)
	}
}

func (t *turns) unlink(e *entry) {
	l := e.in
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.head = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.tail = e.prev
	}
	e.in, e.prev, e.next = nil, nil, nil
	lanes := &t.lanes[l.flow.payer.priority][e.queue]
	if l.head == nil {
		heap.Remove(lanes, l.at)
	} else {
		heap.Fix(lanes, l.at)
	}
}

// fix puts f in its place in every queue where it waits.
func (t *turns) fix(f *flow) {
	for i := range f.lanes {
		if f.lanes[i].head != nil {
			heap.Fix(&t.lanes[f.payer.priority][i], f.lanes[i].at)
		}
	}
}

// others says whether work of somebody but p waits.
func (t *turns) others(p payer) bool {
	n := len(t.flows)
	if t.flows[p] != nil {
		n--
	}
	return n > 0
}

// resume is for queues of which now one and now the other goes on: what p could have been
// served in one while it waited in vain in another is no credit when it comes to that one.
func (t *turns) resume(p payer, queue int) {
	if f := t.flows[p]; f != nil && f.lanes[queue].head == nil && f.tag < t.virtual {
		f.tag = t.virtual
		t.fix(f)
	}
}

// every stands for all queues together.
const every = -1

// owes is the cost of what waits of f in one queue, or in every.
func (f *flow) owes(queue int) time.Duration {
	if queue == every {
		return f.owed
	}
	return f.lanes[queue].owed
}

// ahead is the cost of what goes before the last row of e, which has not been added, or
// has been taken out, unless others come that go before it. Only what is in one queue
// counts, or in every. What e costs itself is not yet its payer's when that row's turn comes:
// who has more than others waits no longer for that.
func (t *turns) ahead(e *entry, queue int, now time.Time) (sum time.Duration) {
	tag := t.start(e.payer)
	if own := t.flows[e.payer]; own != nil {
		tag = own.tag + own.owes(queue)
	}
	tag += time.Duration(max(e.rows-1, 0)) * e.cost
	for p, f := range t.flows {
		if p == e.payer {
			sum += f.owes(queue)
		} else if p.priority <= e.payer.priority || t.anyRipe(f, now) {
			sum += f.until(tag-max(f.tag, t.virtual), queue)
		}
	}
	return sum
}

// until is the cost of what goes of f before somebody whose tag is higher by so much.
func (f *flow) until(by time.Duration, queue int) time.Duration {
	if by < 0 {
		return 0
	}
	return min(f.owes(queue), by+f.turn(queue))
}

// turn is the cost of what goes in one turn: it is the lower tag that counts, and what
// goes then may go far beyond the higher.
func (f *flow) turn(queue int) (cost time.Duration) {
	for i := range f.lanes {
		if head := f.lanes[i].head; head != nil && (queue == every || queue == i) {
			cost = max(cost, head.cost)
		}
	}
	return cost
}

func (t *turns) anyRipe(f *flow, now time.Time) bool {
	for _, l := range f.lanes {
		if l.head != nil && t.ripe(l.head, now) {
			return true
		}
	}
	return false
}

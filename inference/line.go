package inference

import "time"

// line orders visits by due time, then arrival. It is a heap.
type line []*visit

func (v *visit) before(o *visit) bool {
	if c := v.due.Compare(o.due); c != 0 {
		return c < 0
	}
	return v.seq < o.seq
}

func (l line) Len() int           { return len(l) }
func (l line) Less(i, j int) bool { return l[i].before(l[j]) }

func (l line) Swap(i, j int) {
	l[i], l[j] = l[j], l[i]
	l[i].at, l[j].at = i, j
}

// Push is for package heap.
func (l *line) Push(x any) {
	v := x.(*visit)
	v.at = len(*l)
	*l = append(*l, v)
}

// Pop is for package heap.
func (l *line) Pop() any {
	old := *l
	v := old[len(old)-1]
	old[len(old)-1] = nil
	*l = old[:len(old)-1]
	v.at = -1
	return v
}

// payer is who has to wait behind work of its own: an account, which does not
// wait for its own background work, though.
type payer struct {
	account  string
	priority Priority
}

// pace is how much later than now a payer is served that has work worth owed in
// front of it already, where so many payers share so many servers: each at the rate
// of one server, or less when there are more payers than servers. It spaces
// the work of a payer as far apart as its share has it served, so that
// arrivals of others find their places in between.
func pace(owed time.Duration, payers, servers int) time.Duration {
	if payers <= servers {
		return owed
	}
	return owed / time.Duration(servers) * time.Duration(payers)
}

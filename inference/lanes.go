package inference

// laneHeap orders lanes by their flow's tag, then by the deadline and the arrival
// of their first entry.
type laneHeap []*lane

func (h laneHeap) first() *entry {
	if len(h) == 0 {
		return nil
	}
	return h[0].head
}

func (l *lane) before(o *lane) bool {
	if l.flow.tag != o.flow.tag {
		return l.flow.tag < o.flow.tag
	}
	if c := l.head.deadline.Compare(o.head.deadline); c != 0 && l.flow != o.flow {
		return c < 0
	}
	return l.head.seq < o.head.seq
}

func (h laneHeap) Len() int           { return len(h) }
func (h laneHeap) Less(i, j int) bool { return h[i].before(h[j]) }

func (h laneHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push is for package heap.
func (h *laneHeap) Push(x any) {
	l := x.(*lane)
	l.at = len(*h)
	*h = append(*h, l)
}

// Pop is for package heap.
func (h *laneHeap) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}

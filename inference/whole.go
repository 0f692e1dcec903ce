package inference

// nearly is by how much a row may cost more in a batch that ends with a request.
const nearly = 1.06

// whole is how many of n rows to run: all, or those with which the last of the requests that fit in
// ends. A request is done with its last row, and all rows of a batch are done at its end, so
// that rows of one that does not fit in only hold up the others.
func (t *table) whole(n int, turn *entry) int {
	limit := nearly * float64(t.least[t.up(n)]) / float64(n) // 0 where it has not been seen
	found, ends := n, 0
	for e := turn; e != nil && ends < n && e.ticket.work.Extent == turn.ticket.work.Extent; e = e.next {
		if ends += e.rows; ends == n {
			return n
		}
		if i := t.up(ends); t.sizes[i] == ends && ends < n && t.least[i] > 0 && t.each(i) <= limit {
			found = ends
		}
	}
	return found
}

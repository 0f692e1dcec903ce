package inference

import (
	"math"
	"slices"
	"time"
)

// table is what batches of one model cost.
type table struct {
	sizes   []int           // of the batches that the runner is warm for, ascending
	latency []time.Duration // of each, moving average, to predict; 0: not seen
	least   []time.Duration // of each, the shortest lately, to compare; what else runs on the machine only adds to it
	best    int             // place of the size that batches grow to
	slack   float64         // how many times as much as there a row costs at most where a smaller batch is run
	batches int             // so far
	last    []int           // the batch that was of this size last
}

func newTable(sizes []int) table {
	n := len(sizes)
	return table{sizes: sizes, latency: make([]time.Duration, n), least: make([]time.Duration, n), best: n - 1, slack: 1, last: make([]int, n)}
}

// most is the number of rows that a batch grows to. On a GPU it is the largest
// size. On a CPU a row may well cost more in a large batch, which leaves the
// caches, than alone.
func (t *table) most() int { return t.sizes[t.best] }

// alike is by how much the costs of a row may differ and still count as the same.
// Then the smaller batch is better: its rows are done sooner.
const alike = 1.03

// choose finds the size at which a row costs least, as soon as the largest one
// has been seen.
func (t *table) choose() {
	t.best, t.slack = len(t.sizes)-1, 1
	if t.least[t.best] == 0 {
		return
	}
	cheapest := t.cheapest()
	for i := range slices.Backward(t.sizes) {
		if t.least[i] > 0 && t.each(i) <= alike*cheapest {
			t.best = i
		}
	}
	for i := range t.best {
		if t.bearable(i) {
			t.slack = max(t.slack, t.each(i)/t.each(t.best))
		}
	}
}

// bearable says whether the size at place i may be run for the sake of those who would wait
// for a larger batch.
func (t *table) bearable(i int) bool { return t.least[i] > 0 && t.each(i) <= dearer*t.each(t.best) }

// dearer is how many times as much a row may cost there at most.
const dearer = 1.25

// grown is the number of rows that a batch grows to while it holds up so many for each executor.
// All rows of a batch are done at its end, so where a row costs about the same in any batch, as on
// a CPU, those of small ones are done sooner, and who comes waits for less; but what a row costs
// more there holds up all. Where batches of b rows take c(b), the mean wait for one executor is
// proportional to (held/b + 1) c(b).
func (t *table) grown(held float64) int {
	cost := func(i int) float64 { return (held/float64(t.sizes[i]) + 1) * float64(t.least[i]) }
	chosen := t.best
	for i := range t.best {
		if t.bearable(i) && cost(i) < cost(chosen) {
			chosen = i
		}
	}
	return t.sizes[chosen]
}

// each is what a row costs at the size at place i, cheapest the least of all.
func (t *table) each(i int) float64 { return float64(t.least[i]) / float64(t.sizes[i]) }

func (t *table) cheapest() float64 {
	cheapest := math.Inf(1)
	for i := range t.sizes {
		if t.least[i] > 0 {
			cheapest = min(cheapest, t.each(i))
		}
	}
	return cheapest
}

// smoothing is the weight of the newest figure in a moving average.
const smoothing = 0.2

// forget is how slowly a shortest time grows that is no longer reached: by this
// part of it with each batch.
const forget = 64

// leap is how many times the average a batch counts for at most. One that was stopped on
// its way, with the whole process perhaps, would have everybody refused who would wait
// for a batch of its size, and so no batch of that size run that could put it right.
const leap = 8

// observe records that a batch of n rows took so long.
func (t *table) observe(n int, took time.Duration) {
	i := t.up(n)
	t.batches++
	t.last[i] = t.batches
	old := t.least[i]
	if t.least[i] = old + old/forget; old == 0 || took < t.least[i] {
		t.least[i] = max(took, 1)
	}
	if old > 0 {
		t.drift(i, float64(t.least[i])/float64(old))
	}
	if old := t.latency[i]; old != 0 {
		took = min(took, leap*old)
		took = time.Duration(math.Round(smoothing*float64(took) + (1-smoothing)*float64(old)))
	}
	t.latency[i] = max(took, 1)
	t.choose()
}

// drift has the other sizes share two thirds of by how many times the shortest time of the size at
// place i has changed: mostly because the machine has become slower or faster. What isn't run would else
// keep what it took when the machine was at its fastest, and look cheaper the longer it isn't run. The
// rest of a change, and what is seen when another size is run, tells sizes apart. What halves at once
// was a stall of that size alone, as when it was run for the first time.
func (t *table) drift(i int, by float64) {
	if by < 0.5 {
		return
	}
	by = math.Cbrt(by * by)
	for j, old := range t.least {
		if j != i && old > 0 {
			t.least[j] = max(time.Duration(by*float64(old)), 1)
		}
	}
}

// up is the place of the smallest size that holds n rows, or of the largest.
func (t *table) up(n int) int {
	i, _ := slices.BinarySearch(t.sizes, n)
	return min(i, len(t.sizes)-1)
}

// of is the time of a batch of n rows, 0 as long as nothing has been seen.
func (t *table) of(n int) time.Duration { return t.reckon(t.latency, n) }

// reckon looks the time of n rows up. What has not been seen is reckoned from the
// nearest larger size that has, else from the nearest smaller one row by row.
func (t *table) reckon(times []time.Duration, n int) time.Duration {
	i := t.up(n)
	for _, larger := range times[i:] {
		if larger > 0 {
			return larger
		}
	}
	for j := i - 1; j >= 0; j-- {
		if times[j] > 0 {
			return times[j] / time.Duration(t.sizes[j]) * time.Duration(t.sizes[i])
		}
	}
	return 0
}

// perRow is the time of one row in the largest batch: what a row costs when there
// is load, which is when it matters.
func (t *table) perRow() time.Duration { return t.of(t.most()) / time.Duration(t.most()) }

// span is at most the time of n rows, one batch after the other: the last batch
// may be filled up by rows that come later, and so may both where fit makes two
// of it.
func (t *table) span(n int) time.Duration {
	batches := (n + t.most() - 1) / t.most()
	if t.slack > 1 { // what is left of smaller ones
		batches++
	}
	if rest := n % t.most(); rest > 0 && t.sizes[t.up(rest)] != rest {
		batches++
	}
	return time.Duration(t.slack * float64(time.Duration(batches)*t.of(t.most())))
}

// A size that has not been run for long is tried again, one at every retry-th
// batch, unless a row cost hopeless times the least there: noise does not explain
// that.
const (
	retry    = 1024
	hopeless = 4
)

// stale is the size of at most n rows to try again, 0 mostly. Without it a size
// that looked dear because the machine was busy, at the start for example, would
// never be seen again.
func (t *table) stale(n int) int {
	if t.batches%retry != retry-1 {
		return 0
	}
	found, cheapest := -1, t.cheapest()
	for i, size := range t.sizes {
		if size <= n && t.each(i) < hopeless*cheapest && (found < 0 || t.last[i] < t.last[found]) {
			found = i
		}
	}
	if found < 0 {
		return 0
	}
	return t.sizes[found]
}

// fit is how many of n rows to run next, where others of waiting rows could be
// added up to most: a number that the runner is warm for if possible. Where there are no
// others, the table says whether it is quicker to run n rows padded, or as many
// as need no padding and then the rest. On a CPU, where each row costs the same,
// it is the latter, and on a GPU, where a batch costs little more than a row, the
// former.
func (t *table) fit(n, waiting, most int) int {
	n = min(n, most)
	i := t.up(n)
	size := t.sizes[i]
	if size == n || i == 0 {
		return n
	}
	if waiting >= size && 2*n > size {
		return size
	}
	least := func(n int) time.Duration { return t.reckon(t.least, n) }
	if down := t.sizes[i-1]; least(down)+least(n-down) < least(size) {
		return down
	}
	return n
}

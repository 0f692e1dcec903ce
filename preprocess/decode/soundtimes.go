package decode

import (
	"cmp"
	"slices"
	"time"
)

// soundGap is by how much later than expected a sound has to go on for that to count:
// containers round times, and some count what coders put before the first sample.
const soundGap = 100 * time.Millisecond

// maxMarks is how many gaps of a sound are known.
const maxMarks = 1 << 16

// mark says when a sample is heard, and so those that follow.
type mark struct {
	n  int
	at time.Duration
}

// soundTimes says when the samples of a sound are heard, by the times of its packets: it may
// begin later than the pictures, and have gaps.
type soundTimes struct {
	marks []mark
	zero  time.Duration // the time that counts as the beginning
}

// note takes it that sample n is heard at a time. What goes back, as where recordings were joined,
// is taken to follow what is before it; so is what would be longer than the limit after it began.
func (t *soundTimes) note(n int, at, limit time.Duration) {
	if len(t.marks) == 0 {
		at -= soundTime(n)
		t.marks, t.zero = []mark{{0, at}}, at
		return
	}
	last := t.marks[len(t.marks)-1]
	late := at - last.at - soundTime(n-last.n)
	if late >= soundGap && at-t.marks[0].at <= limit && len(t.marks) < maxMarks {
		t.marks = append(t.marks, mark{n, at})
	}
}

// forget has all samples follow each other from the first on.
func (t *soundTimes) forget() { t.marks = t.marks[:min(len(t.marks), 1)] }

// of is when sample n is heard.
func (t *soundTimes) of(n int) time.Duration {
	i, found := slices.BinarySearchFunc(t.marks, n, func(m mark, n int) int { return cmp.Compare(m.n, n) })
	if !found {
		i--
	}
	if i < 0 {
		return soundTime(n)
	}
	return t.marks[i].at - t.zero + soundTime(n-t.marks[i].n)
}

package decode

import (
	"cmp"
	"slices"
)

// stretch is consecutive pictures to be taken.
type stretch struct {
	packets []int // ordinals, in the order in which they are shown
	piece         // what is decoded for them
}

// maxKeys is among how many key frames the one that a stretch rests on is looked for,
// backwards: what is shown before a key frame but comes after it in the file rests on the
// one before, too.
const maxKeys = 2

// planStretches chooses up to n stretches of so many consecutive shown packets, one
// from each n-th of all that are shown, so that none overlap: fewer where there are
// fewer packets. list is what is decoded anyway; no more than budget packets are beside
// that, and a part in which no stretch is affordable is left out. It returns the
// stretches, in order of time, and all that is decoded.
func planStretches(packets []packet, list []piece, n, frames, budget int) ([]stretch, []piece) {
	if n < 1 {
		return nil, list
	}
	shown := slices.DeleteFunc(showOrder(packets), func(p int) bool { return packets[p].empty })
	n = min(n, len(shown)/frames)
	keys := keysBefore(packets)
	var stretches []stretch
	for i := range n {
		part := shown[i*len(shown)/n : (i+1)*len(shown)/n]
		known := decodedBefore(list, len(packets))
		cost := func(s stretch) int { return s.to - s.from - (known[s.to] - known[s.from]) }
		s := placeStretch(packets, keys, part, frames, func(s stretch) bool { return cost(s) <= budget/(n-i) })
		if s.packets != nil {
			budget -= cost(s)
			stretches, list = append(stretches, s), withPiece(list, s.piece)
		}
	}
	return stretches, list
}

// decodedBefore is how many packets before each of count, and before the end, are in
// pieces.
func decodedBefore(list []piece, count int) []int {
	before := make([]int, count+1)
	for _, p := range list {
		for i := p.from; i < p.to; i++ {
			before[i+1] = 1
		}
	}
	for i := range count {
		before[i+1] += before[i]
	}
	return before
}

// keysBefore is keyBefore of each packet.
func keysBefore(packets []packet) []int {
	keys := make([]int, len(packets))
	for i, p := range packets {
		if whole := i + p.after; p.key && whole < len(packets) {
			keys[whole] = max(keys[whole], i)
		}
	}
	for i := 1; i < len(packets); i++ {
		keys[i] = max(keys[i], keys[i-1])
	}
	return keys
}

// placeStretch finds the stretch of a part: at the key frame that is nearest to where
// the stretch would be in the middle, for which nothing else need be decoded, or else
// in the middle, or before it, as soon as it is affordable. It has no packets where
// none is.
func placeStretch(packets []packet, keys, part []int, frames int, affordable func(stretch) bool) stretch {
	middle, best := (len(part)-frames)/2, -1
	apart := func(i int) int { return max(i-middle, middle-i) }
	for i, p := range part[:len(part)-frames+1] {
		opening := p == 0 // often black
		if packets[p].alone() && !opening && (best < 0 || apart(i) < apart(best)) {
			best = i
		}
	}
	if best >= 0 {
		if s, ok := cutStretch(packets, keys, part[best:best+frames]); ok && affordable(s) {
			return s
		}
	}
	for i := middle; i >= 0; i-- {
		if s, ok := cutStretch(packets, keys, part[i:i+frames]); ok && affordable(s) {
			return s
		}
	}
	return stretch{}
}

// cutStretch is the stretch of some packets. It is not ok where something is missing
// between them, or the key frame that they rest on is not to be found.
func cutStretch(packets []packet, keys, shown []int) (s stretch, ok bool) {
	first, last := slices.Min(shown), slices.Max(shown)
	if !whole(packets, shown, first, last) {
		return stretch{}, false
	}
	from := keys[first]
	for range maxKeys {
		if from == 0 || packets[from].at <= packets[shown[0]].at {
			return stretch{packets: shown, piece: piece{from, endOf(packets, last+1)}}, true
		}
		from = keys[from-1]
	}
	return stretch{}, false
}

// whole says whether no other picture belongs between some that are shown, of which
// the first and the last in the file are given: one that is hidden, for it is damaged,
// would leave a jump. What is shown one after the other lies close together.
func whole(packets []packet, shown []int, first, last int) bool {
	if last-first >= 4*len(shown)+reorderTail {
		return false
	}
	begin, end := packets[shown[0]].at, packets[shown[len(shown)-1]].at
	return !slices.ContainsFunc(packets[first:last+1], func(p packet) bool { return p.hidden && p.at > begin && p.at < end })
}

// withPiece are the pieces and another one, in order, each packet at most once.
func withPiece(list []piece, other piece) []piece {
	all := append(slices.Clone(list), other)
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.from, b.from) })
	joined := all[:1]
	for _, p := range all[1:] {
		if last := &joined[len(joined)-1]; p.from < last.to {
			last.to = max(last.to, p.to)
			continue
		}
		joined = append(joined, p)
	}
	return joined
}

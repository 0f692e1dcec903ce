package decode

import (
	"cmp"
	"slices"
	"time"
)

// packet is one packet of video as the container gave it, by its ordinal
// number: timestamps may lie, the order of the packets can't.
type packet struct {
	at     time.Duration // when it is shown, as far as the file says
	key    bool          // decoding may start at it
	hidden bool          // decoded but not shown
	empty  bool          // holds no picture that is shown, by its own account
	ahead  bool          // hidden as one that seems to be shown with the first picture, and so before what comes later
	second bool          // holds the other half of the lines of what begins in the packet before
	after  int           // of a key frame: the packets before pictures are whole, if decoding starts at it
}

// alone says whether a packet decodes to a whole picture without any other.
func (p packet) alone() bool { return p.key && p.after == 0 }

// shown says whether a picture that is shown begins in it.
func (p packet) shown() bool { return !p.hidden && !p.second }

// target is a picture to be taken.
type target struct {
	packet int           // ordinal of the packet that holds it
	from   int           // ordinal of the packet that decoding starts at
	at     time.Duration // of that packet
}

// reorderTail is how many packets a decoder may hold a picture back for.
const reorderTail = 16

// hiddenTail is how many packets are decoded after a picture's own, for the case
// that the packet holds none that is shown. What comes after them in the clip
// makes the decoder let go of the pictures.
const hiddenTail = 2

// planFrames chooses up to n pictures, spread over the whole length: one from
// each n-th of it, a key frame where there is one, since it costs nothing else
// and shows best, and what is shown in the middle otherwise. Where that is the
// same for several, as in a pause, others stand in. No more than budget packets
// are decoded for all of them. The targets are in order of from and time, each
// packet at most once.
func planFrames(packets []packet, n, budget int) []target {
	shown := showOrder(packets)
	if len(shown) == 0 {
		return nil
	}
	first := packets[shown[0]].at
	length := videoLength(packets, shown)
	n = min(n, len(shown))
	seen := make(map[int]bool, n)
	targets := make([]target, 0, n)
	take := func(p int) {
		if !seen[p] {
			seen[p] = true
			targets = append(targets, target{packet: p, from: startOf(packets, p), at: packets[p].at})
		}
	}
	for i := range n {
		at := func(part float64) time.Duration {
			return first + time.Duration(float64(length)*(float64(i)+part)/float64(n))
		}
		take(choose(packets, shown, at(0), at(0.5), at(1)))
	}
	for _, p := range unseen(shown, seen, n-len(targets)) {
		take(p)
	}
	slices.SortFunc(targets, func(a, b target) int { return cmp.Or(a.from-b.from, cmp.Compare(a.at, b.at)) })
	return afford(packets, targets, budget)
}

// unseen are n of the packets that are shown, beside those that were seen: always the middle
// one of the most that lie side by side.
func unseen(shown []int, seen map[int]bool, n int) []int {
	ends := []int{-1}
	for i, p := range shown {
		if n > 0 && seen[p] {
			ends = append(ends, i)
		}
	}
	ends = append(ends, len(shown))
	var found []int
	for range n {
		widest := 0
		for i := range len(ends) - 1 {
			if ends[i+1]-ends[i] > ends[widest+1]-ends[widest] {
				widest = i
			}
		}
		middle := (ends[widest] + ends[widest+1] + 1) / 2
		found = append(found, shown[middle])
		ends = slices.Insert(ends, widest+1, middle)
	}
	return found
}

// showOrder lists the packets that are shown, in order of time.
func showOrder(packets []packet) []int {
	shown := make([]int, 0, len(packets))
	for i, p := range packets {
		if p.shown() {
			shown = append(shown, i)
		}
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(packets[a].at, packets[b].at) })
	return shown
}

// videoLength is from the first picture to the end of the last, which is taken
// to be shown as long as the others are on average.
func videoLength(packets []packet, shown []int) time.Duration {
	span := packets[shown[len(shown)-1]].at - packets[shown[0]].at
	if len(shown) == 1 {
		return span
	}
	return span + span/time.Duration(len(shown)-1)
}

// choose finds the packet to take for the stretch [lo, hi) around middle.
func choose(packets []packet, shown []int, lo, middle, hi time.Duration) int {
	search := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(shown, t, func(p int, t time.Duration) int { return cmp.Compare(packets[p].at, t) })
		return i
	}
	best := -1
	for _, p := range shown[search(lo):search(hi)] {
		opening := p == shown[0] && len(shown) > 1 // often black
		if packets[p].alone() && !opening && (best < 0 || (packets[p].at-middle).Abs() < (packets[best].at-middle).Abs()) {
			best = p
		}
	}
	if best >= 0 {
		return best
	}
	after := search(middle + 1)
	return shown[max(after-1, 0)]
}

// keyBefore is the key frame that p comes after in the file, or p itself: the last one from
// which p is decoded as it is.
func keyBefore(packets []packet, p int) int {
	key := p
	for key > 0 && (!packets[key].key || key+packets[key].after > p) {
		key--
	}
	return key
}

// startOf is the packet that decoding must start at to get p. What is shown before the
// key frame that it comes after rests on the pictures before that, too.
func startOf(packets []packet, p int) int {
	key := keyBefore(packets, p)
	if key > 0 && packets[p].at < packets[key].at {
		return keyBefore(packets, key-1)
	}
	return key
}

// hiddenRoom is how many times the budget may be spent on top of it where a group
// begins with hidden packets, as after a cut without coding anew: they have to
// be decoded before there is anything to see.
const hiddenRoom = 3

// afford moves the targets of each group that starts at the same packet closer
// to it, until what is decoded is within the group's share of the budget. All
// stay on packets that are shown and that no other target has, as one of the next group may that is within reach;
// a group that has none in reach is left out.
func afford(packets []packet, targets []target, budget int) []target {
	kept, room := make([]target, 0, len(targets)), hiddenRoom*budget
	taken := make(map[int]bool, len(targets))
	for _, t := range targets {
		taken[t.packet] = true
	}
	for start := 0; start < len(targets); {
		end, last := start, 0
		for ; end < len(targets) && targets[end].from == targets[start].from; end++ {
			last = max(last, targets[end].packet)
		}
		group, from := targets[start:end], targets[start].from
		start = end
		share := max(budget*len(group)/len(targets), len(group))
		if last-from+1 <= share {
			kept = append(kept, group...)
			continue
		}
		for _, t := range group {
			delete(taken, t.packet)
		}
		shown := slices.DeleteFunc(reach(packets[:last+1], from, len(group), share, room), func(p int) bool { return taken[p] })
		if len(shown) == 0 {
			continue
		}
		room -= max(shown[len(shown)-1]+1-from-share, 0)
		n := min(len(group), len(shown))
		for i := range n {
			p := shown[(2*i+1)*len(shown)/(2*n)]
			group[i], taken[p] = target{packet: p, from: from, at: packets[p].at}, true
		}
		slices.SortFunc(group[:n], func(a, b target) int { return cmp.Compare(a.at, b.at) })
		kept = append(kept, group[:n]...)
	}
	return kept
}

// reach lists the shown packets of the share that begins at from which decoding that
// starts there yields: neither what comes before pictures are whole, nor what is shown
// before a key frame, since that rests on what comes before it, too. Up to room more are
// looked at where there are less than n.
func reach(packets []packet, from, n, share, room int) []int {
	var shown []int
	for p := from; p < len(packets); p++ {
		if p-from >= share && (len(shown) >= n || p-from >= share+room) {
			break
		}
		yielded := p-from >= packets[from].after && (from == 0 || packets[p].at >= packets[from].at)
		if yielded && packets[p].shown() {
			shown = append(shown, p)
		}
	}
	return shown
}

// piece is a run of packets to be decoded, [from, to).
type piece struct{ from, to int }

// pieces lists what must be decoded for the targets, in order, each packet at
// most once. A key frame alone needs nothing but itself.
func pieces(packets []packet, targets []target) []piece {
	var list []piece
	for _, t := range targets {
		to := t.packet + 1
		if t.packet != t.from || !packets[t.packet].alone() {
			to = min(t.packet+1+hiddenTail, len(packets))
		}
		to = endOf(packets, to)
		if n := len(list); n > 0 && t.from < list[n-1].to {
			list[n-1].to = max(list[n-1].to, to)
			continue
		}
		list = append(list, piece{t.from, to})
	}
	return list
}

// beginOf is the packet in which the picture begins that is said to come from another one. OpenCV
// says so of the first of a clip.
func beginOf(packets []packet, ordinal int) int {
	if ordinal > 0 && packets[ordinal].second {
		return ordinal - 1
	}
	return ordinal
}

// endOf is where decoding may end that was to end before a packet: not amid a picture.
func endOf(packets []packet, to int) int {
	for to < len(packets) && packets[to].second {
		to++
	}
	return to
}

// pieceOf is the index of the piece that holds a packet; the pieces are in
// order.
func pieceOf(list []piece, ordinal int) int {
	i, _ := slices.BinarySearchFunc(list, ordinal, func(p piece, o int) int { return cmp.Compare(p.to, o+1) })
	return min(i, len(list)-1)
}

// ordinalOf is the packet that became number n when the pieces were put
// together, -1 for what follows them.
func ordinalOf(list []piece, n int) int {
	for _, p := range list {
		if n < p.to-p.from {
			return p.from + n
		}
		n -= p.to - p.from
	}
	return -1
}

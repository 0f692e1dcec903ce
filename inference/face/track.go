package face

import (
	"cmp"
	"image"
	"math"
	"slices"
)

// sameFace is the least intersection over union of two boxes of one face, in frames
// half a stretch apart.
const sameFace = 0.3

// Tracks are the boxes of faces in each of so many consecutive frames, of what was found
// in the first of them, the middle one (frames/2) and the last. A face that is not in all
// three is left out. Between them each edge moves evenly: boxes found in every frame
// would tremble, and the crops with them. The order is that of the middle frame's faces.
func Tracks(first, middle, last []image.Rectangle, frames int) [][]image.Rectangle {
	before, after := match(middle, first), match(middle, last)
	var tracks [][]image.Rectangle
	for i, box := range middle {
		if before[i] < 0 || after[i] < 0 {
			continue
		}
		track, half := make([]image.Rectangle, frames), frames/2
		for j := range track {
			if j <= half {
				track[j] = between(first[before[i]], box, j, half)
			} else {
				track[j] = between(box, last[after[i]], j-half, frames-1-half)
			}
		}
		tracks = append(tracks, track)
	}
	return tracks
}

// match is the box of others that belongs to each of some boxes, by index; -1 where none
// does. Those that overlap most find each other first, and each is taken once.
func match(boxes, others []image.Rectangle) []int {
	type pair struct {
		box, other int
		overlap    float64
	}
	var pairs []pair
	found := make([]int, len(boxes))
	for i, a := range boxes {
		found[i] = -1
		for j, b := range others {
			if o := overlap(a, b); o >= sameFace {
				pairs = append(pairs, pair{i, j, o})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.overlap, a.overlap) })
	taken := make([]bool, len(others))
	for _, p := range pairs {
		if found[p.box] < 0 && !taken[p.other] {
			found[p.box], taken[p.other] = p.other, true
		}
	}
	return found
}

// between is the box n of count steps on the way from one to another, each edge rounded,
// halves to the even number.
func between(from, to image.Rectangle, n, count int) image.Rectangle {
	edge := func(a, b int) int {
		return int(math.RoundToEven(float64(a) + float64(b-a)*float64(n)/float64(count)))
	}
	return image.Rectangle{
		Min: image.Pt(edge(from.Min.X, to.Min.X), edge(from.Min.Y, to.Min.Y)),
		Max: image.Pt(edge(from.Max.X, to.Max.X), edge(from.Max.Y, to.Max.Y)),
	}
}

package face

import (
	"encoding/binary"
	"errors"
	"slices"

	pigo "github.com/esimov/pigo/core"
)

// firstTrees is how many trees of the cascade decide where to look closely. Nearly
// all of a picture is done with before.
const firstTrees = 60

// cut is a cascade of the first trees alone: what it takes for a face may turn
// out not to be one.
func cut(cascade []byte, trees uint32) ([]byte, error) {
	const count = 12 // where the number of trees is stored
	if len(cascade) < count+4 || binary.LittleEndian.Uint32(cascade[count:]) < trees {
		return nil, errors.New("read the face cascade: it is too short")
	}
	first := slices.Clone(cascade)
	binary.LittleEndian.PutUint32(first[count:], trees)
	return first, nil
}

// window is a square that the cascade looks at, by its centre.
type window struct{ row, col, side int }

// step is how far the centres of neighbouring windows are apart.
func step(side int) int { return max(1, side/10) }

// sides are those of the windows of a search.
func sides(smallest, largest int) (all []int) {
	for side := smallest; side <= largest; side += max(2, side/10) {
		all = append(all, side)
	}
	return all
}

// sieve gathers the squares of one search.
type sieve struct {
	picture
	looked map[window]bool
	found  []pigo.Detection
}

// sift returns the squares of these sides, many for each face, that lie around
// what the first trees take for one: they look at every second place of every so
// many sides, and the whole cascade at all the windows there.
func (f *Finder) sift(p picture, looked map[window]bool, sides []int, every int) []pigo.Detection {
	clear(looked)
	s := sieve{picture: p, looked: looked}
	for i := min(every, len(sides)) - 1; i >= 0 && i < len(sides); i += every {
		for _, hit := range run(f.first, p.pix, p.height, p.width, p.width, sides[i], 2*step(sides[i])) {
			for _, side := range sides[max(0, i-every+1):min(i+every, len(sides))] {
				f.around(&s, hit, side)
			}
		}
	}
	return s.found
}

// around looks at the nine windows of a side that are nearest to a hit.
func (f *Finder) around(s *sieve, hit pigo.Detection, side int) {
	step, half := step(side), side/2+1
	row, col := (hit.Row-half+step/2)/step, (hit.Col-half+step/2)/step
	for r := max(0, row-1); r <= row+1; r++ {
		for c := max(0, col-1); c <= col+1; c++ {
			w := window{row: half + r*step, col: half + c*step, side: side}
			if w.row+half > s.height || w.col+half > s.width || s.looked[w] {
				continue
			}
			s.looked[w] = true
			corner := (w.row-half)*s.width + w.col - half
			for _, d := range run(f.cascade, s.pix[corner:], 2*half, 2*half, s.width, side, side) {
				d.Row, d.Col = w.row, w.col
				s.found = append(s.found, d)
			}
		}
	}
}

// run looks at windows of one side, step pixels apart, in rows that begin dim
// pixels after one another. The first centre is side/2+1 pixels from the corner.
func run(cascade *pigo.Pigo, pix []byte, rows, cols, dim, side, step int) []pigo.Detection {
	return cascade.RunCascade(pigo.CascadeParams{
		MinSize: side, MaxSize: side,
		ShiftFactor: (float64(step) + 0.5) / float64(side), // times side and rounded down: step
		ScaleFactor: 2,
		ImageParams: pigo.ImageParams{Pixels: pix, Rows: rows, Cols: cols, Dim: dim},
	}, 0)
}

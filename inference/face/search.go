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

// search returns squares of at least smallest and at most largest pixels, many
// for each face, in rows of width grey pixels.
func (f *Finder) search(pix []byte, width, smallest, largest int) (found []pigo.Detection) {
	for _, side := range sides(smallest, largest) {
		found = append(found, run(f.cascade, pix, len(pix)/width, width, width, side, step(side))...)
	}
	return found
}

// sift returns those squares of search that lie around what the first trees take
// for a face. They look at an eighth of the windows: at every second place of
// every second side.
func (f *Finder) sift(b *buffer, smallest, largest int) (found []pigo.Detection) {
	clear(b.looked)
	all := sides(smallest, largest)
	for i := min(1, len(all)-1); i >= 0 && i < len(all); i += 2 {
		for _, hit := range run(f.first, b.pix, b.height, b.width, b.width, all[i], 2*step(all[i])) {
			for _, side := range all[max(0, i-1):min(i+2, len(all))] {
				found = f.around(found, b, hit, side)
			}
		}
	}
	return found
}

// around appends what the nine windows of a side that are nearest to a hit hold.
func (f *Finder) around(found []pigo.Detection, b *buffer, hit pigo.Detection, side int) []pigo.Detection {
	step, half := step(side), side/2+1
	row, col := (hit.Row-half+step/2)/step, (hit.Col-half+step/2)/step
	for r := max(0, row-1); r <= row+1; r++ {
		for c := max(0, col-1); c <= col+1; c++ {
			w := window{row: half + r*step, col: half + c*step, side: side}
			if w.row+half > b.height || w.col+half > b.width || b.looked[w] {
				continue
			}
			b.looked[w] = true
			corner := (w.row-half)*b.width + w.col - half
			for _, d := range run(f.cascade, b.pix[corner:], 2*half, 2*half, b.width, side, side) {
				d.Row, d.Col = w.row, w.col
				found = append(found, d)
			}
		}
	}
	return found
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

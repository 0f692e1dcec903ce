package face

import (
	"encoding/binary"
	"errors"
	"math"

	pigo "github.com/esimov/pigo/core"
)

// cascade is a chain of decision trees over comparisons of two pixels (Markuš et
// al., 2013), in the format of pigo. It finds exactly what pigo finds, several
// times as fast: where the pixels of a node lie is worked out once for each size
// of the window instead of once for each window, and nothing branches on pixels.
type cascade struct {
	depth      int
	size       int       // leaves of a tree, and nodes counted from 1
	codes      []int8    // of each node of each tree: row and column of two pixels, in 256ths of the window
	leaves     []float32 // of each tree
	thresholds []float32 // one for each tree: below, a window holds no face
}

// pair is where the two pixels of a node lie, from the middle of the window.
type pair struct{ a, b int32 }

var errCascade = errors.New("read the face cascade: it is not in pigo's format")

func readCascade(packed []byte) (*cascade, error) {
	if len(packed) < 16 {
		return nil, errCascade
	}
	depth, trees := binary.LittleEndian.Uint32(packed[8:]), binary.LittleEndian.Uint32(packed[12:])
	packed = packed[16:]
	if depth < 1 || depth > 10 || trees < 1 {
		return nil, errCascade
	}
	c := &cascade{depth: int(depth), size: 1 << depth}
	nodes, each := 4*(c.size-1), 4*(c.size-1)+4*c.size+4
	if uint64(len(packed)) < uint64(trees)*uint64(each) { //nolint:gosec // each is small
		return nil, errCascade
	}
	number := func(at int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(packed[at:])) }
	for range trees {
		c.codes = append(c.codes, 0, 0, 0, 0) // nodes count from 1
		for _, code := range packed[:nodes] {
			c.codes = append(c.codes, int8(code)) //nolint:gosec // a byte of the file is a signed number
		}
		for i := range c.size {
			c.leaves = append(c.leaves, number(nodes+4*i))
		}
		c.thresholds = append(c.thresholds, number(each-4))
		packed = packed[each:]
	}
	return c, nil
}

// window is a place where a face may be.
type window struct {
	column int
	middle int // index of its middle pixel
	sum    float32
}

// search looks at windows of one size after another, from smallest up to the
// whole picture, each a tenth larger than the one before and moved by a tenth of
// itself. What it finds is appended to found.
func (c *cascade) search(b *buffer, width, height, smallest int, found []pigo.Detection) []pigo.Detection {
	for size := smallest; size <= max(width, height); size = int(float64(size) + math.Max(2, float64(size)*1.1-float64(size))) {
		step, edge := max(int(0.1*float64(size)), 1), size/2+1
		b.pairs = b.pairs[:0]
		for row := edge; row <= height-edge; row += step {
			b.windows = b.windows[:0]
			for column := edge; column <= width-edge; column += step {
				b.windows = append(b.windows, window{column: column, middle: row*width + column})
			}
			for _, w := range c.sift(b, size, width) {
				q := w.sum - c.thresholds[len(c.thresholds)-1]
				found = append(found, pigo.Detection{Row: row, Col: w.column, Scale: size, Q: q})
			}
		}
	}
	return found
}

// sift leaves those windows of a row that hold a face. Most are out after a few
// trees, so that pairs are worked out when a window first comes as far; and all
// windows go through a tree before any goes on, so that the processor has work
// while a pixel is on its way.
func (c *cascade) sift(b *buffer, size, width int) []window {
	left, pix, depth := b.windows, b.pix, c.depth
	for i := 0; i < len(c.thresholds) && len(left) > 0; i++ {
		if (i+1)*c.size > len(b.pairs) {
			b.pairs = c.locate(b.pairs, i, size, width)
		}
		tree, leaves := b.pairs[i*c.size:(i+1)*c.size], c.leaves[i*c.size:(i+1)*c.size]
		threshold, kept := c.thresholds[i], 0
		for _, w := range left {
			node := 1
			for range depth {
				p := tree[node]
				// The top bit of a-b-1 is set where a <= b.
				less := uint32(pix[w.middle+int(p.a)]) - uint32(pix[w.middle+int(p.b)]) - 1
				node = 2*node + int(less>>31)
			}
			w.sum += leaves[node-c.size]
			left[kept] = w
			if w.sum > threshold {
				kept++
			}
		}
		left = left[:kept]
	}
	return left
}

// locate appends the pairs of one tree for a window of so many pixels.
func (c *cascade) locate(pairs []pair, tree, size, width int) []pair {
	at := func(row, column int8) int32 {
		return int32(int(row)*size>>8*width + int(column)*size>>8) //nolint:gosec // within a small picture
	}
	codes := c.codes[tree*c.size*4:]
	for i := range c.size {
		n := codes[4*i : 4*i+4]
		pairs = append(pairs, pair{at(n[0], n[1]), at(n[2], n[3])})
	}
	return pairs
}

package face

import (
	"slices"

	"deepfaked/preprocess"
)

// buffer is the memory of one search.
type buffer struct {
	pix           []byte // grey
	width, height int
	wide          []byte // continued beyond the edges
	sum           []int  // of one row
	looked        map[window]bool
}

// reduce averages blocks of by×by pixels into one grey pixel each. What is left
// over at the right and lower edge is not looked at. The frame must hold a block.
func (b *buffer) reduce(frame preprocess.Frame, by int) {
	width, height := frame.Width/by, frame.Height/by
	b.width, b.height = width, height
	b.pix = slices.Grow(b.pix[:0], width*height)[:width*height]
	b.sum = slices.Grow(b.sum[:0], width)[:width]
	scale := 1 / float32(1000*by*by)
	for y := range height {
		clear(b.sum)
		for v := range by {
			pixels := frame.Pix[(y*by+v)*frame.Width*3:]
			if by == 2 {
				lumaOfPairs(b.sum, pixels)
			} else {
				luma(b.sum, pixels, by)
			}
		}
		row := b.pix[y*width : (y+1)*width]
		for x, s := range b.sum {
			row[x] = byte(float32(s) * scale)
		}
	}
}

// luma adds by pixels of the row to each sum: ITU-R BT.601, in thousandths.
func luma(sum []int, row []byte, by int) {
	for x := range sum {
		s := 0
		for p := row[x*by*3 : (x+1)*by*3]; len(p) >= 3; p = p[3:] {
			s += 299*int(p[0]) + 587*int(p[1]) + 114*int(p[2])
		}
		sum[x] += s
	}
}

// lumaOfPairs is luma with by of 2, several times as fast: most frames need it.
func lumaOfPairs(sum []int, row []byte) {
	for x := range sum {
		p := row[x*6:][:6]
		sum[x] += 299*(int(p[0])+int(p[3])) + 587*(int(p[1])+int(p[4])) + 114*(int(p[2])+int(p[5]))
	}
}

// continued adds margin pixels on every side, like the nearest ones of the edge.
// The result is valid until the next call.
func (b *buffer) continued(margin int) []byte {
	width, height := b.width+2*margin, b.height+2*margin
	b.wide = slices.Grow(b.wide[:0], width*height)[:width*height]
	for y := range height {
		from := b.pix[min(max(y-margin, 0), b.height-1)*b.width:][:b.width]
		row := b.wide[y*width:][:width]
		copy(row[margin:], from)
		for x := range margin {
			row[x], row[margin+b.width+x] = from[0], from[b.width-1]
		}
	}
	return b.wide
}

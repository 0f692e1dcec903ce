package face

import (
	"slices"

	"deepfaked/preprocess"
)

// picture is grey, in rows without padding.
type picture struct {
	pix           []byte
	width, height int
}

// buffer is the memory of one search.
type buffer struct {
	picture
	wide   []byte   // continued beyond the edges
	sum    []uint32 // of one row
	looked map[window]bool
}

// reduce averages blocks of by×by pixels into one grey pixel each. What is left
// over at the right and lower edge is not looked at. The frame must hold a block.
func (b *buffer) reduce(frame preprocess.Frame, by int) {
	width, height, stride := frame.Width/by, frame.Height/by, frame.Width*3
	b.width, b.height = width, height
	b.pix = slices.Grow(b.pix[:0], width*height)[:width*height]
	b.sum = slices.Grow(b.sum[:0], width)[:width]
	for y := range height {
		row, pixels := b.pix[y*width:(y+1)*width], frame.Pix[y*by*stride:]
		if by == 2 {
			halve(row, pixels, pixels[stride:])
			continue
		}
		clear(b.sum)
		for v := range by {
			luma(b.sum, pixels[v*stride:], by)
		}
		whole := uint32(by * by * lumaScale) //nolint:gosec // by is at most a frame's side
		for x, s := range b.sum {
			row[x] = byte(s / whole) //nolint:gosec // a mean of bytes
		}
	}
}

// The weights of ITU-R BT.601, as parts of lumaScale.
const (
	lumaRed, lumaGreen, lumaBlue = 306, 601, 117
	lumaScale                    = 1 << 10
)

// luma adds by pixels of the row to each sum.
func luma(sum []uint32, row []byte, by int) {
	for x := range sum {
		s := uint32(0)
		for p := row[x*by*3 : (x+1)*by*3]; len(p) >= 3; p = p[3:] {
			s += lumaRed*uint32(p[0]) + lumaGreen*uint32(p[1]) + lumaBlue*uint32(p[2])
		}
		sum[x] += s
	}
}

// halve is what reduce does with two rows of blocks of 2×2, several times as
// fast: most frames need it.
func halve(out, upper, lower []byte) {
	for x := range out {
		u, l := upper[x*6:][:6], lower[x*6:][:6]
		out[x] = byte((lumaRed*(uint32(u[0])+uint32(u[3])+uint32(l[0])+uint32(l[3])) + //nolint:gosec // a mean of bytes
			lumaGreen*(uint32(u[1])+uint32(u[4])+uint32(l[1])+uint32(l[4])) +
			lumaBlue*(uint32(u[2])+uint32(u[5])+uint32(l[2])+uint32(l[5]))) / (4 * lumaScale))
	}
}

// continued adds margin pixels on every side, like the nearest ones of the edge.
// The result is valid until the next call.
func (b *buffer) continued(margin int) picture {
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
	return picture{b.wide, width, height}
}

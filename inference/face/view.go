package face

import (
	"bytes"

	"deepfaked/preprocess"
)

// backdrop is what surrounds a view in the input of a model that finds faces.
const backdrop = 128

// grey is to be copied from: several times as fast as a loop over bytes.
var grey = bytes.Repeat([]byte{backdrop}, 4096)

// View is a frame as a model that finds faces is shown it.
type View struct {
	by            int // pixels of the frame along one of the view
	width, height int
	pix           []byte // RGB, rows without padding
}

// Look reduces a frame by the smallest whole factor with which it fits into side
// by side pixels: each is the mean of a block, and what is left over at the right
// and lower edge is not looked at. The training script does the same. A frame that
// fits as it is is not copied.
func Look(frame preprocess.Frame, side int) View {
	by := max(1, (max(frame.Width, frame.Height)+side-1)/side)
	v := View{by: by, width: frame.Width / by, height: frame.Height / by}
	if by == 1 {
		v.pix = frame.Pix
		return v
	}
	v.pix = make([]byte, v.width*v.height*3)
	sums, stride := make([]uint32, v.width*3), frame.Width*3
	for y := range v.height {
		out, rows := v.pix[y*v.width*3:][:v.width*3], frame.Pix[y*by*stride:]
		if by == 2 {
			halve(out, rows[:stride], rows[stride:][:stride])
			continue
		}
		clear(sums)
		for line := range by {
			addBlocks(sums, rows[line*stride:][:stride], by)
		}
		means(out, sums, by*by)
	}
	return v
}

// cut is in what steps of pixels the built-in finder leaves out what a view does
// not fill of its input.
const cut = 128

// Extent names how much of the input the view fills, as far as it matters to a
// model that leaves out the rest. It is never 0.
func (v View) Extent() int { return (v.width+cut-1)/cut<<16 | (v.height+cut-1)/cut }

// halve writes the means of blocks of 2×2, several times as fast as the general
// way: most frames need it.
func halve(out, upper, lower []byte) {
	for len(out) >= 3 && len(upper) >= 6 && len(lower) >= 6 {
		out[0] = byte((uint32(upper[0]) + uint32(upper[3]) + uint32(lower[0]) + uint32(lower[3]) + 2) / 4) //nolint:gosec // a mean of bytes
		out[1] = byte((uint32(upper[1]) + uint32(upper[4]) + uint32(lower[1]) + uint32(lower[4]) + 2) / 4) //nolint:gosec // a mean of bytes
		out[2] = byte((uint32(upper[2]) + uint32(upper[5]) + uint32(lower[2]) + uint32(lower[5]) + 2) / 4) //nolint:gosec // a mean of bytes
		out, upper, lower = out[3:], upper[6:], lower[6:]
	}
}

// addBlocks adds runs of by pixels of a row to each sum of red, green and blue.
func addBlocks(sums []uint32, row []byte, by int) {
	for len(sums) >= 3 {
		r, g, b := sums[0], sums[1], sums[2]
		for p := row[:by*3]; len(p) >= 3; p = p[3:] {
			r, g, b = r+uint32(p[0]), g+uint32(p[1]), b+uint32(p[2])
		}
		sums[0], sums[1], sums[2] = r, g, b
		sums, row = sums[3:], row[by*3:]
	}
}

// means writes sums of n bytes, divided and rounded.
func means(out []byte, sums []uint32, n int) {
	for i, s := range sums {
		out[i] = byte((s + uint32(n/2)) / uint32(n)) //nolint:gosec // a mean of bytes; n is at most a frame
	}
}

// Fill writes the view to the upper left of side by side RGB pixels, and the
// backdrop to the rest.
func (v View) Fill(dst []byte, side int) {
	for y := range side {
		row := dst[y*side*3:][:side*3]
		if y < v.height {
			row = row[copy(row, v.pix[y*v.width*3:][:v.width*3]):]
		}
		for len(row) > 0 {
			row = row[copy(row, grey):]
		}
	}
}

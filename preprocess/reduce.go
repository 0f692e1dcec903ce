package preprocess

import (
	"encoding/binary"
	"image"
)

// Reduced is a part of the frame, reduced by a whole factor of at least 1: each pixel
// is the mean of a block of by×by pixels of the frame, rounded. The part is in blocks
// and must lie within the frame; what it leaves out is not looked at. The pixels are
// new, unless the result is the frame as it is.
func (f Frame) Reduced(by int, part image.Rectangle) Frame {
	out := Frame{Width: part.Dx(), Height: part.Dy(), At: f.At}
	if by == 1 && part == image.Rect(0, 0, f.Width, f.Height) {
		out.Pix = f.Pix
		return out
	}
	out.Pix = make([]byte, out.Width*out.Height*3)
	sums, stride, width := make([]uint32, out.Width*3), f.Width*3, out.Width*by*3
	for y := range out.Height {
		to, from := out.Pix[y*out.Width*3:][:out.Width*3], f.Pix[(part.Min.Y+y)*by*stride+part.Min.X*by*3:]
		switch by {
		case 1:
			copy(to, from)
			continue
		case 2:
			halve(to, from[:width], from[stride:][:width])
			continue
		case 3:
			third(to, from[:width], from[stride:][:width], from[2*stride:][:width])
			continue
		}
		clear(sums)
		for line := range by {
			addBlocks(sums, from[line*stride:][:width], by)
		}
		means(to, sums, by*by)
	}
	return out
}

// halve writes the means of blocks of 2×2, several times as fast as the general
// way: most frames need it.
func halve(out, upper, lower []byte) {
	for len(out) >= 3 && len(upper) >= 6 && len(lower) >= 6 {
		out[0] = byte((uint32(upper[0]) + uint32(upper[3]) + uint32(lower[0]) + uint32(lower[3]) + 2) / 4)
		out[1] = byte((uint32(upper[1]) + uint32(upper[4]) + uint32(lower[1]) + uint32(lower[4]) + 2) / 4)
		out[2] = byte((uint32(upper[2]) + uint32(upper[5]) + uint32(lower[2]) + uint32(lower[5]) + 2) / 4)
		out, upper, lower = out[3:], upper[6:], lower[6:]
	}
}

// everyOther is every other byte of a word: added up, each has 16 bits of its own.
const everyOther = 0x00ff00ff00ff00ff

// third writes the means of blocks of 3×3, as the overview of 720 lines has them, from nine
// bytes of each of three rows: of a pixel's red, 0 and 6 are even ones and 3 is an odd one.
func third(out, a, b, c []byte) {
	for len(out) >= 3 && len(a) >= 9 && len(b) >= 9 && len(c) >= 9 {
		u, v, w := binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(c)
		even, odd := u&everyOther+v&everyOther+w&everyOther, u>>8&everyOther+v>>8&everyOther+w>>8&everyOther
		last := uint64(a[8]) + uint64(b[8]) + uint64(c[8])
		out[0] = byte((even&0xffff + odd>>16&0xffff + even>>48 + 4) / 9) //nolint:gosec // a mean of bytes
		out[1] = byte((odd&0xffff + even>>32&0xffff + odd>>48 + 4) / 9)  //nolint:gosec // a mean of bytes
		out[2] = byte((even>>16&0xffff + odd>>32&0xffff + last + 4) / 9) //nolint:gosec // a mean of bytes
		out, a, b, c = out[3:], a[9:], b[9:], c[9:]
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

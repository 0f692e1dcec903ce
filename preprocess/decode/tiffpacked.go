//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"slices"

	"gocv.io/x/gocv"
)

// packedTIFF is a page of greys with transparency, which OpenCV drops, of greys or a palette in
// 2 or 4 bits, which it does not read, or of two colours, which it takes for black and white, or of four inks in 16 bits or
// with more beside them, which it does not read either. libtiff unpacks these, too: it is told
// that the bytes of a row are greys of 8 bits, and what they are is worked out here. What is in a compression of fax
// it unpacks as single bits only, and is told that these are black and white.
type packedTIFF struct {
	page    tiffPage
	width   int
	bits    int // of a sample
	fax     bool
	samples int // of a pixel: 2 with transparency, or inks and what is beside them
	extra   int // what the first one beside the colours is
	light   int // 0: white is zero, 1: black is, 3: a palette, 5: inks
	span    int // how many pixels of a row lie together: of a tile, or all
	differs bool
	palette []uint16 // reds, greens, blues
}

// separated are inks, and inkCount is how many of them make a picture: cyan, magenta, yellow and black.
const (
	separated = 5
	inkCount  = 4
)

// mostPacked is how many bytes a pixel has at most: OpenCV is told of no wider rows.
const mostPacked = 10

// Tags of what a file of greys of 8 bits needs to be read, or one of fax.
func plainTags() []uint16 {
	return []uint16{256, 257, 258, 259, 262, 266, 273, 277, 278, 279, 292, 293, 322, 323, 324, 325}
}

// packed is how the pixels of the page are packed; false: OpenCV reads them, if anybody.
func (p tiffPage) packed() (packedTIFF, bool) {
	k := packedTIFF{
		page: p, width: p.number(256), bits: p.short(258, 1), samples: p.short(277, 1), extra: p.short(338, 0),
		light: p.short(262, 1), span: p.number(322), differs: p.short(317, 1) == 2,
	}
	if k.span == 0 {
		k.span = k.width
	}
	way := p.short(259, 1)
	k.fax = k.bits == 1 && slices.Contains([]int{2, 3, 4, 32771}, way)
	if k.width < 1 || p.short(339, 1) != 1 || !k.fax && !slices.Contains([]int{1, 5, 8, 32773, 32946}, way) {
		return k, false
	}
	together := p.short(284, 1) == 1 && len(slices.Compact(p.shorts(258, k.samples))) <= 1 && (k.bits == 8 || k.bits == 16)
	switch {
	case k.samples == 2:
		transparent := k.extra == extraMultiplied || k.extra == extraStraight
		return k, transparent && together && k.light <= 1
	case k.light == separated:
		plain := k.samples == inkCount && k.bits == 8 // which OpenCV reads
		return k, together && !plain && k.samples >= inkCount && k.bytes(1) <= mostPacked && p.short(332, 1) == 1
	case k.samples != 1 || k.bits != 2 && k.bits != 4 && (k.bits != 1 || k.light != 3) || k.differs:
		return k, false
	}
	k.palette = p.shorts(320, 3<<k.bits)
	if k.palette != nil && slices.Max(k.palette) < 1<<8 { // some programs write them so, as libtiff knows
		for i := range k.palette {
			k.palette[i] <<= 8
		}
	}
	return k, k.light <= 1 || k.light == 3 && k.palette != nil
}

// bytes are how many the pixels take, as OpenCV hands them out.
func (k packedTIFF) bytes(pixels int) int {
	if k.fax {
		return pixels
	}
	return (pixels*k.samples*k.bits + 7) / 8
}

// decode decodes the page of the (privately mapped) file, and leaves the file spoiled.
// The result has straight alpha, unless it is opaque already.
func (k packedTIFF) decode() (gocv.Mat, error) {
	k.page.keep(plainTags())
	k.page.set(256, k.bytes(k.width))
	if !k.fax {
		k.page.set(258, 8)
	}
	k.page.set(262, 1)
	k.page.set(277, 1)
	k.page.set(322, k.bytes(k.span))
	raw, err := readMat(k.page.data, gocv.IMReadUnchanged)
	if err != nil {
		return raw, err
	}
	defer closeMat(&raw)
	rows, err := raw.DataPtrUint8()
	if err != nil || raw.Type() != gocv.MatTypeCV8UC1 || raw.Cols() != k.bytes(k.width) {
		return gocv.Mat{}, fmt.Errorf("decode TIFF: %d packed bytes in a row, %w", raw.Cols(), err)
	}
	mat := gocv.NewMatWithSize(raw.Rows(), k.width, gocv.MatTypeCV8UC4)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	levels := make([]uint16, k.width*k.samples)
	for row := range slices.Chunk(rows, raw.Cols()) {
		k.unpack(levels, row)
		k.colour(pix[:4*k.width], levels)
		pix = pix[4*k.width:]
	}
	if k.extra == extraMultiplied && k.samples == 2 {
		return onWhitePremultiplied(mat)
	}
	return mat, nil
}

// unpack takes the samples out of a row. Where they are stored as differences, each is
// to the one of the pixel before, beginning anew with each tile.
func (k packedTIFF) unpack(levels []uint16, row []byte) {
	for i := range levels {
		switch {
		case k.fax:
			levels[i] = uint16(row[i] >> 7)
		case k.bits == 16:
			levels[i] = k.page.order.Uint16(row[2*i:])
		case k.bits == 8:
			levels[i] = uint16(row[i])
		default:
			at := i * k.bits
			levels[i] = uint16(row[at/8]) >> (8 - k.bits - at%8) & (1<<k.bits - 1)
		}
		if k.differs && i%(k.span*k.samples) >= k.samples {
			levels[i] = (levels[i] + levels[i-k.samples]) & (1<<k.bits - 1)
		}
	}
}

// colour makes blue, green, red and alpha of the samples of a row.
func (k packedTIFF) colour(pix []byte, levels []uint16) {
	eight := func(v uint16) byte { return byte((int(v)*255 + (1<<k.bits)/2) / (1<<k.bits - 1)) }
	for ; len(pix) > 0; pix, levels = pix[4:], levels[k.samples:] {
		pix[3] = 255
		switch v := eight(levels[0]); k.light {
		case 0:
			pix[0], pix[1], pix[2] = 255-v, 255-v, 255-v
		case 1:
			pix[0], pix[1], pix[2] = v, v, v
		case separated:
			inks := [inkCount]byte{v, eight(levels[1]), eight(levels[2]), eight(levels[3])}
			bgrOfInks(inks[:], false, pix)
			if k.samples > inkCount && k.extra == extraStraight {
				pix[3] = eight(levels[inkCount])
			}
		default:
			n, i := 1<<k.bits, int(levels[0])
			pix[2], pix[1], pix[0] = byte(k.palette[i]>>8), byte(k.palette[n+i]>>8), byte(k.palette[2*n+i]>>8)
		}
		if k.samples == 2 {
			pix[3] = eight(levels[1])
		}
	}
}

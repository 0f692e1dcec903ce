package heif

import (
	"encoding/binary"
	"image"
)

// cleanAperture is the part of a picture that a clap property has people see, or nothing
// where that makes no sense: ISO/IEC 14496-12, section 12.1.4. It says the size and how far
// the middle is off the picture's, in fractions. As to libavif, no pixel may be in two.
func cleanAperture(b []byte, width, height int) image.Rectangle {
	if len(b) < 32 {
		return image.Rectangle{}
	}
	left, right, ok := span(b[:8], b[16:24], width)
	top, bottom, fits := span(b[8:16], b[24:32], height)
	if !ok || !fits {
		return image.Rectangle{}
	}
	return image.Rect(left, top, right, bottom)
}

// span is where so much of a width or height lies.
func span(size, offset []byte, of int) (from, to int, ok bool) {
	n, d := int(binary.BigEndian.Uint32(size)), int(binary.BigEndian.Uint32(size[4:]))
	off, parts := int(int32(binary.BigEndian.Uint32(offset))), int(binary.BigEndian.Uint32(offset[4:])) //nolint:gosec // it has a sign
	if d == 0 || parts == 0 || n%d != 0 || n == 0 || n/d > of {
		return 0, 0, false
	}
	n /= d
	twice := (of-n)*parts + 2*off
	from = twice / (2 * parts)
	return from, from + n, twice%(2*parts) == 0 && from >= 0 && from+n <= of
}

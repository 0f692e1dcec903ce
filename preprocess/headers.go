package preprocess

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"deepfaked/preprocess/internal/heif"
)

// errHeader means that a header is cut off or says something impossible.
var errHeader = errors.New("the header is damaged")

// checkHeader compares the dimensions that a picture declares with the limits,
// in pure Go. Sound and video are measured by their decoders.
func checkHeader(f io.ReaderAt, size int64, format Format, limits Limits) error {
	read, ok := map[Format]func(io.ReaderAt, int64) (dimensions, error){
		JPEG: jpegDimensions, PNG: pngDimensions, GIF: gifDimensions, BMP: bmpDimensions,
		WebP: webpDimensions, TIFF: tiffDimensions, HEIC: heifDimensions, AVIF: heifDimensions,
	}[format]
	if !ok {
		return nil
	}
	d, err := read(f, size)
	switch {
	case errors.Is(err, heif.ErrNoPicture):
		return nil // a sequence: its decoder is bounded like all others
	case errors.Is(err, errBigTIFF):
		return err
	case err != nil:
		return undecodable(format, err)
	case d.w < 1 || d.h < 1:
		return undecodable(format, fmt.Errorf("%w: %d by %d pixels", errHeader, d.w, d.h))
	case d.h > limits.Pixels/d.w:
		return &Error{
			Code: PayloadTooLarge,
			Message: fmt.Sprintf("The picture has %d by %d pixels; at most %d are allowed.",
				d.w, d.h, limits.Pixels),
		}
	}
	return nil
}

// dimensions of a picture in pixels.
type dimensions struct{ w, h int64 }

// at reads n bytes at an offset.
func at(f io.ReaderAt, offset int64, n int) ([]byte, error) {
	b := make([]byte, n)
	if offset < 0 {
		return nil, errHeader
	}
	if got, err := f.ReadAt(b, offset); got < n {
		return nil, fmt.Errorf("%w: %w", errHeader, err)
	}
	return b, nil
}

// maxSegments bounds how many JPEG segments are looked at before the frame.
const maxSegments = 10_000

// jpegDimensions finds the frame header behind any other segments.
func jpegDimensions(f io.ReaderAt, _ int64) (dimensions, error) {
	offset := int64(2)
	for range maxSegments {
		var err error
		if offset, err = nextMarker(f, offset); err != nil {
			return dimensions{}, err
		}
		b, err := at(f, offset, 4)
		if err != nil {
			return dimensions{}, err
		}
		switch marker := b[1]; {
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd7: // without a body
			offset += 2
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			frame, err := at(f, offset, 9)
			if err != nil {
				return dimensions{}, err
			}
			return dimensions{
				w: int64(binary.BigEndian.Uint16(frame[7:])), h: int64(binary.BigEndian.Uint16(frame[5:])),
			}, nil
		case marker == 0xd9 || marker == 0xda:
			return dimensions{}, fmt.Errorf("%w: no JPEG frame before the pixels", errHeader)
		default:
			length := int64(binary.BigEndian.Uint16(b[2:]))
			if length < 2 {
				return dimensions{}, errHeader
			}
			offset += 2 + length
		}
	}
	return dimensions{}, fmt.Errorf("%w: too many JPEG segments", errHeader)
}

// nextMarker is where the next marker of a JPEG file is. Padding and stray bytes before it are
// skipped, as libjpeg does, however many there are.
func nextMarker(f io.ReaderAt, offset int64) (int64, error) {
	var b [512]byte
	for {
		n, err := f.ReadAt(b[:], offset)
		for i := range max(n-1, 0) {
			if b[i] == 0xff && b[i+1] != 0xff && b[i+1] != 0 {
				return offset + int64(i), nil
			}
		}
		if n < len(b) {
			return 0, fmt.Errorf("%w: %w", errHeader, err)
		}
		offset += int64(n - 1) // the last may be the first half of a marker
	}
}

// pngDimensions reads IHDR, which comes first.
func pngDimensions(f io.ReaderAt, _ int64) (dimensions, error) {
	b, err := at(f, 8, 16)
	if err != nil {
		return dimensions{}, err
	}
	if binary.BigEndian.Uint32(b) != 13 || string(b[4:8]) != "IHDR" {
		return dimensions{}, errHeader
	}
	return dimensions{w: int64(binary.BigEndian.Uint32(b[8:])), h: int64(binary.BigEndian.Uint32(b[12:]))}, nil
}

// gifDimensions reads the logical screen. Its frames are walked in the child,
// before any is decoded: a screen of no size gets that of the first.
func gifDimensions(f io.ReaderAt, _ int64) (dimensions, error) {
	b, err := at(f, 6, 4)
	if err != nil {
		return dimensions{}, err
	}
	w, h := int64(binary.LittleEndian.Uint16(b)), int64(binary.LittleEndian.Uint16(b[2:]))
	return dimensions{w: max(w, 1), h: max(h, 1)}, nil
}

// bmpDimensions reads the second header, of either generation. A negative
// height means rows from top to bottom.
func bmpDimensions(f io.ReaderAt, _ int64) (dimensions, error) {
	b, err := at(f, 14, 12)
	if err != nil {
		return dimensions{}, err
	}
	if binary.LittleEndian.Uint32(b) == 12 {
		return dimensions{
			w: int64(binary.LittleEndian.Uint16(b[4:])), h: int64(binary.LittleEndian.Uint16(b[6:])),
		}, nil
	}
	w := int64(int32(binary.LittleEndian.Uint32(b[4:]))) //nolint:gosec // signed in the file
	h := int64(int32(binary.LittleEndian.Uint32(b[8:]))) //nolint:gosec // signed in the file
	return dimensions{w: w, h: max(h, -h)}, nil
}

// webpDimensions reads the first chunk, which is one of three.
func webpDimensions(f io.ReaderAt, size int64) (dimensions, error) {
	b, err := at(f, 0, 30)
	if err != nil {
		return dimensions{}, err
	}
	if int64(binary.LittleEndian.Uint32(b[4:]))+8 > size {
		return dimensions{}, fmt.Errorf("%w: the file is shorter than it says", errHeader)
	}
	switch body := b[20:]; string(b[12:16]) {
	case "VP8X":
		uint24 := func(b []byte) int64 { return int64(b[0]) | int64(b[1])<<8 | int64(b[2])<<16 }
		return dimensions{w: 1 + uint24(body[4:]), h: 1 + uint24(body[7:])}, nil
	case "VP8L":
		bits := int64(binary.LittleEndian.Uint32(body[1:]))
		return dimensions{w: 1 + bits&0x3fff, h: 1 + bits>>14&0x3fff}, nil
	case "VP8 ":
		return dimensions{
			w: int64(binary.LittleEndian.Uint16(body[6:]) & 0x3fff),
			h: int64(binary.LittleEndian.Uint16(body[8:]) & 0x3fff),
		}, nil
	}
	return dimensions{}, errHeader
}

// heifDimensions are those of the main picture, or the number of pixels in one
// row if another picture, such as a tile, is larger.
func heifDimensions(f io.ReaderAt, size int64) (dimensions, error) {
	info, err := heif.Read(f, size)
	if err != nil {
		return dimensions{}, err
	}
	if whole := int64(info.Width) * int64(info.Height); whole < info.Pixels {
		return dimensions{w: info.Pixels, h: 1}, nil
	}
	return dimensions{w: int64(info.Width), h: int64(info.Height)}, nil
}

// maxEntries bounds the first directory of a TIFF file.
const maxEntries = 4096

// errBigTIFF refuses files with offsets of 64 bits: their header and their directories are
// laid out in another way.
var errBigTIFF = &Error{
	Code:    UnsupportedMediaType,
	Message: "The file is recognised as TIFF but it is a BigTIFF, which is not supported; convert it to a TIFF file.",
}

// tiffDimensions reads the first directory; the others are not looked at. Of a
// tag that is there twice, the larger value counts, whichever a decoder takes.
func tiffDimensions(f io.ReaderAt, _ int64) (dimensions, error) {
	head, err := at(f, 0, 8)
	if err != nil {
		return dimensions{}, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	if order.Uint16(head[2:]) == '+' {
		return dimensions{}, errBigTIFF
	}
	offset := int64(order.Uint32(head[4:]))
	count, err := at(f, offset, 2)
	if err != nil {
		return dimensions{}, err
	}
	entries := int(order.Uint16(count))
	if entries > maxEntries {
		return dimensions{}, fmt.Errorf("%w: %d directory entries", errHeader, entries)
	}
	table, err := at(f, offset+2, 12*entries)
	if err != nil {
		return dimensions{}, err
	}
	var d dimensions
	for ; len(table) > 0; table = table[12:] {
		var side *int64
		switch order.Uint16(table) {
		case 256:
			side = &d.w
		case 257:
			side = &d.h
		default:
			continue
		}
		value, err := tiffNumber(f, order, table[:12])
		if err != nil {
			return dimensions{}, err
		}
		*side = max(*side, value)
	}
	return d, nil
}

// tiffNumber is the value of an entry of one whole number, of any of the types that libtiff takes for a width or a
// height. What has 64 bits has no room in the entry, which says where it is.
func tiffNumber(f io.ReaderAt, order binary.ByteOrder, entry []byte) (int64, error) {
	switch order.Uint16(entry[2:]) {
	case 1, 6: // BYTE, SBYTE
		return int64(entry[8]), nil
	case 3, 8: // SHORT, SSHORT
		return int64(order.Uint16(entry[8:])), nil
	case 16, 17: // LONG8, SLONG8
		b, err := at(f, int64(order.Uint32(entry[8:])), 8)
		if err != nil {
			return 0, err
		}
		return int64(min(order.Uint64(b), math.MaxUint32)), nil
	}
	return int64(order.Uint32(entry[8:])), nil
}

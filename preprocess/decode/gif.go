//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"compress/lzw"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"io"
	"slices"
)

// decodeGIF decodes one frame of a GIF file, made into a file of its own. Go's decoder
// takes coded pixels for damage that the picture has no room for, which browsers leave out, and
// codes that begin with two bits, as those of two colours by some encoders do.
func decodeGIF(data []byte) (image.Image, error) {
	img, err := gif.Decode(bytes.NewReader(data))
	if err == nil {
		return img, nil
	}
	exact, mendErr := codedAnew(data)
	if mendErr == nil {
		img, err = gif.Decode(bytes.NewReader(exact))
	}
	if err != nil {
		return nil, fmt.Errorf("decode GIF: %w", errors.Join(err, mendErr))
	}
	return img, nil
}

// codedAnew codes the pixels of a frame anew, as many as it has room for, by codes that Go's decoder knows.
func codedAnew(data []byte) ([]byte, error) {
	at := 13
	if flags := data[10]; flags&0x80 != 0 {
		at += 3 << (flags&7 + 1)
	}
	if data[at] == 0x21 {
		at += 8
	}
	size := data[at+5 : at+9]
	at += 11 // behind the size of the codes
	bits := int(data[at-1])
	var coded []byte
	for blocks := data[at:]; blocks[0] != 0; blocks = blocks[1+int(blocks[0]):] {
		coded = append(coded, blocks[1:1+int(blocks[0])]...)
	}
	pixels := make([]byte, (int(size[0])|int(size[1])<<8)*(int(size[2])|int(size[3])<<8))
	var err error
	if bits == 1 {
		bits, err = leastBits, unpackTwo(coded, pixels)
	} else {
		_, err = io.ReadFull(lzw.NewReader(bytes.NewReader(coded), lzw.LSB, bits), pixels)
	}
	if err != nil {
		return nil, fmt.Errorf("decode the pixels: %w", err)
	}
	return slices.Concat(data[:at-1], []byte{byte(bits)}, gifBlocks(pixels, bits), []byte{0, 0x3b}), nil
}

// leastBits is of how many bits a pixel is at least, by the standard and to compress/lzw. Some encoders say 1
// where there are two colours, and what most programs show goes by that.
const leastBits = 2

// unpackTwo fills pixels with those of two colours, of one bit each, that are coded in LZW.
func unpackTwo(coded, pixels []byte) error {
	const restart, end, first, longest = 2, 3, 4, 12
	var table [1 << longest]struct{ from, to int } // which of the pixels a code stands for
	next, size, fresh := first, 2, true            // the code to come, the bits of one, and whether none came since the restart
	r := codeReader{data: coded}
	for n, from := 0, 0; n < len(pixels); {
		code, ok := r.take(size)
		if !ok || code == end {
			return io.ErrUnexpectedEOF
		}
		if code == restart {
			next, size, fresh = first, 2, true
			continue
		}
		if !fresh && next < len(table) {
			table[next].from, table[next].to = from, n+1 // what came last and the first pixel of this
			next++
		}
		if code >= next {
			return errCode
		}
		from, fresh = n, false
		if code < restart {
			pixels[n] = byte(code)
			n++
		} else {
			for i := table[code].from; i < table[code].to && n < len(pixels); i++ {
				pixels[n] = pixels[i]
				n++
			}
		}
		if next == 1<<size && size < longest {
			size++
		}
	}
	return nil
}

// codeReader reads codes, the lowest bit first.
type codeReader struct {
	data []byte
	at   int // in bits
}

// take reads one of so many bits, unless there are not as many.
func (r *codeReader) take(size int) (code int, ok bool) {
	if r.at+size > 8*len(r.data) {
		return 0, false
	}
	for i := range size {
		code |= int(r.data[r.at/8]>>(r.at%8)&1) << i
		r.at++
	}
	return code, true
}

// errCode means that nothing stands for a code yet.
var errCode = errors.New("a code that stands for nothing")

// gifBlocks codes pixels.
func gifBlocks(pixels []byte, bits int) []byte {
	var coded bytes.Buffer
	w := lzw.NewWriter(&coded, lzw.LSB, bits)
	_, _ = w.Write(pixels) // they are out of codes of as many bits, and the buffer takes all
	_ = w.Close()
	var out []byte
	for block := range slices.Chunk(coded.Bytes(), 255) {
		out = append(append(out, byte(len(block))), block...)
	}
	return out
}

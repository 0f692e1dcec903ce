//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// rawPNG writes the kinds of PNG that Go's encoder does not.
type rawPNG struct {
	width, height int
	depth, color  byte
	interlaced    bool
	pixel         func(x, y int) []byte // the bytes of one pixel
	extra         []byte                // chunks between the header and the pixels
}

// chunk is a chunk with length and checksum.
func chunk(kind string, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// compressed compresses b.
func compressed(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// header is the body of IHDR.
func (p rawPNG) header() []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(p.width))
	out = binary.BigEndian.AppendUint32(out, uint32(p.height))
	out = append(out, p.depth, p.color, 0, 0, 0)
	if p.interlaced {
		out[12] = 1
	}
	return out
}

// rows are the unfiltered lines, pass by pass.
func (p rawPNG) rows() []byte {
	passes := [][4]int{{0, 0, 1, 1}}
	if p.interlaced { // Adam7: first column and line, then the steps
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	var out []byte
	for _, pass := range passes {
		for y := pass[1]; y < p.height; y += pass[3] {
			out = append(out, 0)
			for x := pass[0]; x < p.width; x += pass[2] {
				out = append(out, p.pixel(x, y)...)
			}
		}
	}
	return out
}

// encode is the whole file.
func (p rawPNG) encode(t testing.TB) []byte {
	t.Helper()
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", p.header())...)
	out = append(out, p.extra...)
	out = append(out, chunk("IDAT", compressed(t, p.rows()))...)
	return append(out, chunk("IEND", nil)...)
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"image/color"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// tiffTag is an entry of a TIFF file's table: numbers of 16 bits.
type tiffTag struct {
	tag    uint16
	values []uint16
}

// packedFile is a TIFF file of 96 by 64 pixels, whose rows are stored as they are given,
// in two tiles of 48 by 64 if there are two parts.
func packedFile(order binary.AppendByteOrder, parts [][]byte, tags ...tiffTag) []byte {
	offset, count := uint16(273), uint16(279)
	tags = append(tags, tiffTag{256, []uint16{96}}, tiffTag{257, []uint16{64}})
	if len(parts) == 2 {
		offset, count = 324, 325
		tags = append(tags, tiffTag{322, []uint16{48}}, tiffTag{323, []uint16{64}})
	} else {
		tags = append(tags, tiffTag{278, []uint16{64}})
	}
	const start = 1 << 12
	at := tiffTag{offset, nil}
	size := tiffTag{count, nil}
	next := start
	for _, p := range parts {
		at.values, size.values = append(at.values, uint16(next)), append(size.values, uint16(len(p)))
		next += len(p)
	}
	tags = append(tags, at, size)
	slices.SortFunc(tags, func(a, b tiffTag) int { return int(a.tag) - int(b.tag) })
	b := append(map[bool][]byte{true: []byte("II*\x00"), false: []byte("MM\x00*")}[order == binary.AppendByteOrder(binary.LittleEndian)], order.AppendUint32(nil, 8)...)
	b = order.AppendUint16(b, uint16(len(tags)))
	rest := []byte{}
	for _, tag := range tags {
		b = order.AppendUint32(order.AppendUint16(order.AppendUint16(b, tag.tag), 3), uint32(len(tag.values)))
		var values []byte
		for _, v := range tag.values {
			values = order.AppendUint16(values, v)
		}
		if len(values) > 4 {
			b = order.AppendUint32(b, uint32(start/2+len(rest)))
			rest = append(rest, values...)
			continue
		}
		b = append(b, append(values, 0, 0, 0, 0)[:4]...)
	}
	b = append(b, make([]byte, start/2-len(b))...)
	b = append(append(b, rest...), make([]byte, start/2-len(rest))...)
	return append(b, bytes.Join(parts, nil)...)
}

// deflated is a row of bytes as compression 8 stores it.
func deflated(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestTIFFGreyAlpha: the transparency of grey pictures was dropped, and what cannot be
// seen was judged in the place of white.
func TestTIFFGreyAlpha(t *testing.T) {
	t.Parallel()
	want := fourGreys()
	for i := range want {
		v := byte((int(want[i].R)*128 + 255*127) / 255)
		want[i] = color.NRGBA{v, v, v, 255}
	}
	for i := range 1 << 6 {
		k := greyAlphaKind{
			[]binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}[i&1], []uint16{8, 16}[i>>1&1],
			[]uint16{extraMultiplied, extraStraight}[i>>2&1], uint16(i >> 3 & 1), 1 + i>>4&1, 1 + i>>5&1,
		}
		_, frames, err := decodeTest(t, k.file(t), preprocess.TIFF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatalf("%+v: %v", k, err)
		}
		t.Run(fmt.Sprintf("%+v", k), func(t *testing.T) { frames[0].expect(t, want, 3) })
	}
}

// greyAlphaKind is a way to store fourGreys, half transparent.
type greyAlphaKind struct {
	order              binary.AppendByteOrder
	bits, extra, light uint16
	tiles, predictor   int
}

func (k greyAlphaKind) file(t testing.TB) []byte {
	t.Helper()
	var parts [][]byte
	for tile := range k.tiles {
		parts = append(parts, deflated(t, k.pixels(tile)))
	}
	return packedFile(k.order, parts, tiffTag{258, []uint16{k.bits, k.bits}}, tiffTag{259, []uint16{8}}, tiffTag{262, []uint16{k.light}},
		tiffTag{277, []uint16{2}}, tiffTag{317, []uint16{uint16(k.predictor)}}, tiffTag{338, []uint16{k.extra}})
}

// pixels are those of a tile.
func (k greyAlphaKind) pixels(tile int) []byte {
	return tilePixels(k.order, k.bits, k.predictor == 2, tile, k.tiles, func(quarter int) []uint16 {
		grey := uint16(fourGreys()[quarter].R)
		if k.extra == extraMultiplied {
			grey = grey * 128 / 255
		}
		if k.light == 0 {
			grey = 255 - grey
		}
		return []uint16{grey, 128}
	})
}

// tilePixels writes one of a number of tiles of 96 by 64 pixels, of which each quarter has samples of 8 bits, in so
// many bits and, if predicted, as what they differ by from those to the left.
func tilePixels(order binary.AppendByteOrder, bits uint16, predicted bool, tile, tiles int, samples func(quarter int) []uint16) (pixels []byte) {
	for y := range 64 {
		var last [8]uint16
		for x := range 96 / tiles {
			for i, v := range samples((tile*96/tiles+x)/48 + y/32*2) {
				stored := v * 257 >> (16 - bits)
				if predicted {
					stored, last[i] = stored-last[i], stored
				}
				if bits == 16 {
					pixels = order.AppendUint16(pixels, stored)
				} else {
					pixels = append(pixels, byte(stored))
				}
			}
		}
	}
	return pixels
}

// TestTIFFGreyAlphaOfFFmpeg has another program write the file.
func TestTIFFGreyAlphaOfFFmpeg(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"ya8", "ya16le"} {
		for _, coded := range []string{"raw", "packbits", "lzw", "deflate"} {
			path := filepath.Join(t.TempDir(), "x.tiff")
			ffmpeg(t, "-f", "lavfi", "-i", "color=c=black@0.5:s=96x64,format=rgba", "-frames:v", "1", "-pix_fmt", format, "-compression_algo", coded, path)
			file := read(t, path)
			if firstPage(file).short(338, 0) == 0 {
				t.Fatal("no ExtraSamples")
			}
			_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
			if err != nil {
				t.Fatalf("%s, %s: %v", format, coded, err)
			}
			frames[0].expect(t, all(128, 128, 128), 3)
		}
	}
}

// FuzzPackedTIFF holds that no table of a page leads outside of the file or of a row.
func FuzzPackedTIFF(f *testing.F) {
	f.Add(greyAlphaKind{binary.LittleEndian, 16, extraMultiplied, 0, 2, 2}.file(f))
	f.Add(packedFile(binary.BigEndian, fewBits(f, 4, 3, 1), tiffTag{258, []uint16{4}}, tiffTag{259, []uint16{8}}, tiffTag{262, []uint16{3}},
		tiffTag{277, []uint16{1}}, tiffTag{320, colourMap(4, true)}))
	f.Add(inked{binary.LittleEndian, 16, 1, extraStraight, 2, 2}.file(f))
	f.Fuzz(func(_ *testing.T, data []byte) {
		data = bytes.Clone(data)
		page := firstPage(data)
		k, ok := page.packed()
		if !ok || page.number(256)*page.number(257) > 1<<16 {
			return
		}
		if mat, err := k.decode(); err == nil {
			closeMat(&mat)
		}
	})
}

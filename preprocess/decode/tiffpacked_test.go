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
	"strings"
	"testing"

	"deepfaked/preprocess"
)

// fourGreys are levels that two bits are enough for.
func fourGreys() quadrants {
	var q quadrants
	for i, v := range []byte{0, 85, 170, 255} {
		q[i] = color.NRGBA{v, v, v, 255}
	}
	return q
}

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
func (k greyAlphaKind) pixels(tile int) (pixels []byte) {
	for y := range 64 {
		var last [2]uint16
		for x := range 96 / k.tiles {
			grey := uint16(fourGreys()[(tile*96/k.tiles+x)/48+y/32*2].R)
			if k.extra == extraMultiplied {
				grey = grey * 128 / 255
			}
			if k.light == 0 {
				grey = 255 - grey
			}
			for i, v := range []uint16{grey, 128} {
				stored := v * 257 >> (16 - k.bits)
				if k.predictor == 2 {
					stored, last[i] = stored-last[i], stored
				}
				if k.bits == 16 {
					pixels = k.order.AppendUint16(pixels, stored)
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

// TestTIFFFewBits: greys and palettes of 2 and 4 bits, as scanners and fax programs
// write, were refused.
func TestTIFFFewBits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		light  int
		bytes  bool // of the palette
		wanted quadrants
	}{
		"white is zero": {0, false, fourGreys()}, "black is zero": {1, false, fourGreys()},
		"palette": {3, false, drawnColors()}, "palette of bytes": {3, true, drawnColors()},
	} {
		for i := range 1 << 2 {
			bits, tiles := 2+2*(i&1), 1+i>>1
			tags := []tiffTag{{258, []uint16{uint16(bits)}}, {259, []uint16{8}}, {262, []uint16{uint16(tc.light)}}, {277, []uint16{1}}}
			if tc.light == 3 {
				tags = append(tags, tiffTag{320, colourMap(bits, tc.bytes)})
			}
			file := packedFile(binary.LittleEndian, fewBits(t, bits, tc.light, tiles), tags...)
			_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
			if err != nil {
				t.Fatalf("%s, %d bits, %d tiles: %v", name, bits, tiles, err)
			}
			t.Run(fmt.Sprintf("%s, %d bits, %d tiles", name, bits, tiles), func(t *testing.T) { frames[0].expect(t, tc.wanted, 3) })
		}
	}
}

// TestTIFFOfTwoColours: of pictures with a palette of two colours, whatever these are, black and white
// were judged.
func TestTIFFOfTwoColours(t *testing.T) {
	t.Parallel()
	c := drawnColors()
	for tiles := 1; tiles <= 2; tiles++ {
		file := packedFile(binary.LittleEndian, fewBits(t, 1, 3, tiles), tiffTag{258, []uint16{1}}, tiffTag{259, []uint16{8}},
			tiffTag{262, []uint16{3}}, tiffTag{277, []uint16{1}}, tiffTag{320, colourMap(1, false)})
		_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatalf("%d tiles: %v", tiles, err)
		}
		frames[0].expect(t, quadrants{c[0], c[1], c[0], c[1]}, 3)
	}
}

// faxed is a picture of two colours, left and right, and the other way round below, in a compression of fax.
func faxed(way int) []byte {
	const (
		white48, black48, white0 = "00001011", "000001100100", "00110101"
		endOfLine                = "000000000001"
		likeAbove                = "1" // of each change of colour, in T.6
	)
	var coded strings.Builder
	for y := range 64 {
		row := white48 + black48
		if y >= 32 {
			row = white0 + black48 + white48
		}
		switch {
		case way == 3:
			row = endOfLine + row
		case way == 4 && y == 0:
			row = "001" + row
		case way == 4 && y == 32:
			row = "001" + white0 + black48 + likeAbove
		case way == 4 && y < 32:
			row = strings.Repeat(likeAbove, 2)
		case way == 4:
			row = strings.Repeat(likeAbove, 3)
		}
		coded.WriteString(row)
		for whole := map[int]int{2: 8, 32771: 16}[way]; whole > 0 && coded.Len()%whole > 0; {
			coded.WriteByte('0')
		}
	}
	if way == 4 {
		coded.WriteString(endOfLine + endOfLine)
	}
	var packed []byte
	for i, bit := range coded.String() {
		if i%8 == 0 {
			packed = append(packed, 0)
		}
		packed[i/8] |= byte(bit-'0') << (7 - i%8)
	}
	return packed
}

// TestTIFFOfTwoColoursFaxed: such pictures in a compression of fax were judged as black and white.
func TestTIFFOfTwoColoursFaxed(t *testing.T) {
	t.Parallel()
	c := drawnColors()
	for _, way := range []int{2, 3, 4, 32771} {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			file := packedFile(order, [][]byte{faxed(way)}, tiffTag{258, []uint16{1}}, tiffTag{259, []uint16{uint16(way)}},
				tiffTag{262, []uint16{3}}, tiffTag{277, []uint16{1}}, tiffTag{320, colourMap(1, false)})
			_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
			if err != nil {
				t.Fatalf("compression %d: %v", way, err)
			}
			t.Run(fmt.Sprint(way), func(t *testing.T) { frames[0].expect(t, quadrants{c[0], c[1], c[1], c[0]}, 3) })
		}
	}
}

// fewBits are the pixels of fourGreys, or of the palette's first four colours.
func fewBits(t testing.TB, bits, light, tiles int) [][]byte {
	t.Helper()
	var parts [][]byte
	for tile := range tiles {
		var pixels []byte
		for y := range 64 {
			for x := range 96 / tiles {
				quarter := (tile*96/tiles+x)/48 + y/32*2
				level := quarter & (1<<bits - 1)
				if light < 3 {
					level = quarter * (1<<bits - 1) / 3
				}
				if light == 0 {
					level = 1<<bits - 1 - level
				}
				at := x * bits
				if at%8 == 0 {
					pixels = append(pixels, 0)
				}
				pixels[len(pixels)-1] |= byte(level << (8 - bits - at%8))
			}
		}
		parts = append(parts, deflated(t, pixels))
	}
	return parts
}

// colourMap begins with the drawn colours. Some programs write 8 bits in the place of 16.
func colourMap(bits int, eightBits bool) []uint16 {
	values := make([]uint16, 3<<bits)
	colors := drawnColors()
	for i, c := range colors[:min(4, 1<<bits)] {
		for j, v := range []byte{c.R, c.G, c.B} {
			if values[j<<bits+i] = uint16(v) * 257; eightBits {
				values[j<<bits+i] = uint16(v)
			}
		}
	}
	return values
}

// inked is the drawn picture in four inks, and in more samples that say nothing unless the first is transparency.
type inked struct {
	order     binary.AppendByteOrder
	bits      uint16
	more      int
	extra     uint16
	tiles     int
	predictor uint16
}

func (k inked) file(t testing.TB) []byte {
	t.Helper()
	var parts [][]byte
	for tile := range k.tiles {
		parts = append(parts, deflated(t, k.pixels(tile)))
	}
	tags := []tiffTag{{258, slices.Repeat([]uint16{k.bits}, 4+k.more)}, {259, []uint16{8}}, {262, []uint16{5}}, {277, []uint16{uint16(4 + k.more)}}, {317, []uint16{k.predictor}}}
	if k.more > 0 {
		tags = append(tags, tiffTag{338, append([]uint16{k.extra}, make([]uint16, k.more-1)...)})
	}
	return packedFile(k.order, parts, tags...)
}

// pixels are those of a tile.
func (k inked) pixels(tile int) (pixels []byte) {
	for y := range 64 {
		last := make([]uint16, 4+k.more)
		for x := range 96 / k.tiles {
			c := drawnColors()[(tile*96/k.tiles+x)/48+y/32*2]
			light := max(c.R, c.G, c.B)
			samples := append([]uint16{255 - uint16(light)}, slices.Repeat([]uint16{128}, k.more)...)
			for _, v := range []byte{c.B, c.G, c.R} {
				samples = append([]uint16{uint16(light-v) * 255 / uint16(light)}, samples...)
			}
			for i, v := range samples {
				stored := v * 257 >> (16 - k.bits)
				if k.predictor == 2 {
					stored, last[i] = stored-last[i], stored
				}
				if k.bits == 16 {
					pixels = k.order.AppendUint16(pixels, stored)
				} else {
					pixels = append(pixels, byte(stored))
				}
			}
		}
	}
	return pixels
}

// TestTIFFOfInks: what is to be printed was refused where its inks have 16 bits, or where a selection, a
// spot colour or transparency lies beside them, as editors save it.
func TestTIFFOfInks(t *testing.T) {
	t.Parallel()
	for i := range 1 << 3 {
		order := []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian}[i&1]
		tiles, predictor := 1+i>>1&1, uint16(1+i>>2&1)
		for name, tc := range map[string]struct {
			bits  uint16
			more  int
			extra uint16
			want  quadrants
		}{
			"16 bits":                  {16, 0, 0, drawnColors()},
			"8 bits and one more":      {8, 1, 0, drawnColors()},
			"16 bits and one more":     {16, 1, 0, drawnColors()},
			"8 bits and two more":      {8, 2, 0, drawnColors()},
			"8 bits and transparency":  {8, 1, extraStraight, onWhiteAt(128)},
			"16 bits and transparency": {16, 1, extraStraight, onWhiteAt(128)},
		} {
			file := inked{order, tc.bits, tc.more, tc.extra, tiles, predictor}.file(t)
			_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
			if err != nil {
				t.Fatalf("%s, %v, %d tiles, predictor %d: %v", name, order, tiles, predictor, err)
			}
			t.Run(name, func(t *testing.T) { frames[0].expect(t, tc.want, 4) })
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

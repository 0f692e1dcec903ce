//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"fmt"
	"image/color"
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

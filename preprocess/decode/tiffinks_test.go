//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

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
func (k inked) pixels(tile int) []byte {
	return tilePixels(k.order, k.bits, k.predictor == 2, tile, k.tiles, func(quarter int) []uint16 {
		c := drawnColors()[quarter]
		light := max(c.R, c.G, c.B)
		var samples []uint16
		for _, v := range []byte{c.R, c.G, c.B} {
			samples = append(samples, uint16(light-v)*255/uint16(light))
		}
		return append(append(samples, 255-uint16(light)), slices.Repeat([]uint16{128}, k.more)...)
	})
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

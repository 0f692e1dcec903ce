//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"math"
	"testing"

	"deepfaked/preprocess"
)

// rawTIFF is the drawn picture with samples of any kind, which sample appends.
func rawTIFF(kind, bits uint16, sample func(b []byte, level float64) []byte) []byte {
	var pixels []byte
	for y := range 64 {
		for x := range 96 {
			c := drawnColors()[x/48+y/32*2]
			for _, v := range []byte{c.R, c.G, c.B} {
				pixels = sample(pixels, float64(v)/255)
			}
		}
	}
	short := func(tag, value uint16) []uint16 { return []uint16{tag, 3, 1, 0, value, 0} }
	entries := [][]uint16{
		short(256, 96), short(257, 64), {258, 3, 3, 0, 138, 0}, short(259, 1), short(262, 2), short(273, 150),
		short(277, 3), short(278, 64), {279, 4, 1, 0, uint16(len(pixels)), uint16(len(pixels) >> 16)}, {339, 3, 3, 0, 144, 0},
	}
	b := []byte("II*\x00\x08\x00\x00\x00\x0a\x00") // the table ends at 10 + 10*12 = 130
	for _, e := range entries {
		for _, v := range e {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
	}
	b = append(b, make([]byte, 8)...)
	for _, v := range []uint16{bits, bits, bits, kind, kind, kind} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return append(b, pixels...)
}

// float32s appends a level times scale.
func float32s(scale float64) func([]byte, float64) []byte {
	return func(b []byte, level float64) []byte {
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(level*scale)))
	}
}

// TestTIFFSamples: floating-point pictures from 0 to 255 came out white, and
// those of other numbers were called damaged.
func TestTIFFSamples(t *testing.T) {
	t.Parallel()
	integers := func(bits int) func([]byte, float64) []byte {
		return func(b []byte, level float64) []byte {
			value := binary.LittleEndian.AppendUint64(nil, uint64(level*float64(uint64(1)<<(bits-1)-1))*2)
			return append(b, value[:bits/8]...)
		}
	}
	for name, tc := range map[string]struct {
		file []byte
		says string
	}{
		"16 bits":          {rawTIFF(1, 16, integers(16)), ""},
		"float":            {rawTIFF(3, 32, float32s(1)), ""},
		"float to 255":     {rawTIFF(3, 32, float32s(255)), "not between 0 and 1"},
		"no numbers":       {rawTIFF(3, 32, float32s(math.NaN())), "not between 0 and 1"},
		"float of 16 bits": {rawTIFF(3, 16, integers(16)), "floating-point numbers of 16 bits"},
		"float of 64 bits": {rawTIFF(3, 64, integers(64)), "floating-point numbers of 64 bits"},
		"32 bits":          {rawTIFF(1, 32, integers(32)), "unsigned integers of 32 bits"},
		"signed":           {rawTIFF(2, 16, integers(16)), "signed integers of 16 bits"},
		"complex":          {rawTIFF(6, 64, integers(64)), "unknown kind of 64 bits"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, frames, err := decodeTest(t, tc.file, preprocess.TIFF, preprocess.DefaultLimits())
			if tc.says != "" {
				wantFault(t, err, preprocess.UnsupportedMediaType, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			frames[0].expect(t, drawnColors(), 6)
		})
	}
}

// tagged changes an entry of rawTIFF's table.
func tagged(file []byte, entry int, tag, kind, value uint16) []byte {
	for i, v := range []uint16{tag, kind, 1, 0, value, 0} {
		binary.LittleEndian.PutUint16(file[10+12*entry+2*i:], v)
	}
	return file
}

// canonRaw moves rawTIFF's table behind everything, and marks the file as Canon's.
func canonRaw(file []byte) []byte {
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)))
	file = append(file, file[8:138]...)
	copy(file[8:], "CR\x02\x00")
	return file
}

// TestTIFFPreview: the thumbnail of a camera's raw file was judged in the place of its
// picture.
func TestTIFFPreview(t *testing.T) {
	t.Parallel()
	level := func(b []byte, level float64) []byte { return append(b, byte(level*255)) }
	for name, file := range map[string][]byte{
		"reduced": tagged(rawTIFF(1, 8, level), 9, 254, 4, 1),
		"DNG":     tagged(rawTIFF(1, 8, level), 9, 50706, 1, 0x0401),
		"Canon":   canonRaw(rawTIFF(1, 8, level)),
	} {
		_, _, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
		t.Run(name, func(t *testing.T) { wantFault(t, err, preprocess.UnsupportedMediaType, "preview") })
	}
}

// TestTIFFWhiteIsZero: scans in 16 bits of grey whose zero is white were judged as
// their negatives.
func TestTIFFWhiteIsZero(t *testing.T) {
	t.Parallel()
	file := rawTIFF(1, 16, func(b []byte, _ float64) []byte { return binary.LittleEndian.AppendUint16(b, 0x3333) })
	file = tagged(tagged(file, 4, 262, 3, 0), 6, 277, 3, 1)
	file = tagged(tagged(file, 2, 258, 3, 16), 9, 339, 3, 1)
	_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].expect(t, all(0xcc, 0xcc, 0xcc), 2)
}

// TestTIFFPlanes: pictures of 16 bits with a plane for each colour were judged as
// stripes of noise.
func TestTIFFPlanes(t *testing.T) {
	t.Parallel()
	const plane = 96 * 64 * 2
	file := tagged(rawTIFF(1, 16, func(b []byte, level float64) []byte {
		return binary.LittleEndian.AppendUint16(b, uint16(level*65535))
	}), 9, 284, 3, 2)
	for entry, values := range map[int][3]uint32{5: {150, 150 + plane, 150 + 2*plane}, 8: {plane, plane, plane}} {
		tagged(file, entry, []uint16{5: 273, 8: 279}[entry], 4, 0)
		binary.LittleEndian.PutUint32(file[10+12*entry+4:], 3)
		binary.LittleEndian.PutUint32(file[10+12*entry+8:], uint32(len(file)))
		for _, v := range values {
			file = binary.LittleEndian.AppendUint32(file, v)
		}
	}
	_, _, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
	wantFault(t, err, preprocess.UnsupportedMediaType, "16 bits lie in a plane for each colour")
}

// TestTIFFDeepAlpha: half-transparent pixels of 16 bits whose colours are multiplied
// already were multiplied once more, and came out too dark.
func TestTIFFDeepAlpha(t *testing.T) {
	t.Parallel()
	for associated, multiplied := range map[uint16]float64{1: 0.5, 2: 1} {
		n := 0
		file := rawTIFF(1, 16, func(b []byte, level float64) []byte {
			b = binary.LittleEndian.AppendUint16(b, uint16(level*multiplied*65535))
			if n++; n%3 == 0 {
				b = binary.LittleEndian.AppendUint16(b, 0x8000)
			}
			return b
		})
		file = tagged(tagged(file, 6, 277, 3, 4), 9, 338, 3, associated)
		binary.LittleEndian.PutUint16(file[10+12*2+4:], 4) // numbers of bits
		binary.LittleEndian.PutUint16(file[144:], 16)      // the fourth of them
		_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		frames[0].expect(t, onWhiteAt(128), 6)
	}
}

// TestTIFFSamplesOfNoTransparency: what an editor stores beside the colours without calling
// it transparency, as a saved selection or an infrared channel, was taken for transparency,
// and a photograph with an empty selection judged as a white sheet.
func TestTIFFSamplesOfNoTransparency(t *testing.T) {
	t.Parallel()
	for bits, sample := range map[uint16]func(b []byte, level float64) []byte{
		8:  func(b []byte, level float64) []byte { return append(b, byte(level*255)) },
		16: func(b []byte, level float64) []byte { return binary.LittleEndian.AppendUint16(b, uint16(level*65535)) },
	} {
		n := 0
		file := rawTIFF(1, bits, func(b []byte, level float64) []byte {
			b = sample(b, level)
			if n++; n%3 == 0 {
				b = sample(b, 0)
			}
			return b
		})
		file = tagged(tagged(file, 6, 277, 3, 4), 9, 338, 3, 0)
		binary.LittleEndian.PutUint16(file[10+12*2+4:], 4) // numbers of bits
		binary.LittleEndian.PutUint16(file[144:], bits)    // the fourth of them
		_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		frames[0].expect(t, drawnColors(), 6)
	}
}

// TestTIFFLight: pictures in CIELAB were judged with a yellow cast, and those of
// floating-point numbers whose zero is white as their negatives.
func TestTIFFLight(t *testing.T) {
	t.Parallel()
	level := func(b []byte, level float64) []byte { return append(b, byte(level*255)) }
	lab := tagged(rawTIFF(1, 8, level), 4, 262, 3, 8)
	floats := tagged(tagged(rawTIFF(3, 32, float32s(1)), 4, 262, 3, 0), 6, 277, 3, 1)
	floats = tagged(tagged(floats, 2, 258, 3, 32), 9, 339, 3, 3)
	for says, file := range map[string][]byte{"CIELAB": lab, "zero of its floating-point samples is white": floats} {
		_, _, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
		t.Run(says, func(t *testing.T) { wantFault(t, err, preprocess.UnsupportedMediaType, says) })
	}
}

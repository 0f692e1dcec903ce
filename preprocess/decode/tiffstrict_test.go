//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"image"
	"image/jpeg"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// greyTIFF is a TIFF file of greys of 8 bits, stored in one way, in as many parts.
func greyTIFF(way uint16, parts ...[]byte) []byte {
	return packedFile(binary.LittleEndian, parts,
		tiffTag{258, []uint16{8}}, tiffTag{259, []uint16{way}}, tiffTag{262, []uint16{1}}, tiffTag{277, []uint16{1}})
}

// wantRefused decodes a TIFF file that is damaged, or not.
func wantRefused(t *testing.T, name string, file []byte, refused bool) {
	t.Helper()
	if _, _, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits()); (err != nil) != refused {
		t.Errorf("%s: %v", name, err)
	}
}

// TestTIFFWithDamagedStrips: what could not be decoded of a file was judged as black, half of
// a picture or all of it.
func TestTIFFWithDamagedStrips(t *testing.T) {
	t.Parallel()
	tile, strip := deflated(t, make([]byte, 48*64)), deflated(t, noisePicture().Pix[:96*64])
	half := slices.Concat(strip[:len(strip)/2], make([]byte, len(strip)-len(strip)/2))
	for name, tc := range map[string]struct {
		file    []byte
		refused bool
	}{
		"a strip":         {greyTIFF(8, strip), false},
		"half of a strip": {greyTIFF(8, half), true},
		"no strip":        {greyTIFF(8, make([]byte, len(strip))), true},
		"tiles":           {greyTIFF(8, tile, tile), false},
		"one tile of two": {greyTIFF(8, tile, make([]byte, len(tile))), true},
	} {
		wantRefused(t, name, tc.file, tc.refused)
	}
}

// TestTIFFWithoutStrips: of files in which GDAL had left out what has no data, with nothing for
// its place and length, the file's own header was judged where samples have 16 bits.
func TestTIFFWithoutStrips(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint16{8, 16} {
		for _, tiles := range []int{1, 2} {
			for _, way := range []uint16{1, 8} {
				part := make([]byte, 96*64*int(bits)/8/tiles)
				if way == 8 {
					part = deflated(t, part)
				}
				file := packedFile(binary.LittleEndian, slices.Repeat([][]byte{part}, tiles),
					tiffTag{258, []uint16{bits}}, tiffTag{259, []uint16{way}}, tiffTag{262, []uint16{1}}, tiffTag{277, []uint16{1}})
				name := fmt.Sprintf("%d bits, %d parts, stored by %d", bits, tiles, way)
				wantRefused(t, name, file, false)
				page := firstPage(file)
				for _, tag := range []uint16{273, 279, 324, 325} {
					clear(page.numbers(tag).raw)
				}
				wantRefused(t, name+", left out", file, true)
			}
		}
	}
}

// TestTIFFFilledUp: of files whose strips hold more rows than their pictures, as some writers
// fill up the last one, the last pixels were those of a picture that somebody else had sent
// before, or black.
func TestTIFFFilledUp(t *testing.T) {
	t.Parallel()
	stored := func(data []byte) []byte { // which does not come in small steps
		b := []byte{0x78, 1}
		for i, rest := range slices.Collect(slices.Chunk(data, 10_000)) {
			n := uint16(len(rest))
			b = append(b, map[bool]byte{true: 1}[(i+1)*10_000 >= len(data)])
			b = append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(b, n), ^n), rest...)
		}
		return binary.BigEndian.AppendUint32(b, adler32.Checksum(data))
	}
	packed := func(data []byte) []byte { return deflated(t, data) }
	for name, tc := range map[string]struct {
		bits, tiles int
		pack        func([]byte) []byte
	}{
		"8 bits": {8, 1, packed}, "16 bits": {16, 1, packed}, "tiles": {16, 2, packed},
		"8 bits, stored": {8, 1, stored}, "16 bits, stored": {16, 1, stored}, "tiles, stored": {16, 2, stored},
	} {
		whole := 96 * 64 * tc.bits / 8 / tc.tiles
		file := func(level byte, length int) []byte {
			part := tc.pack(bytes.Repeat([]byte{level}, length))
			return packedFile(binary.LittleEndian, slices.Repeat([][]byte{part}, tc.tiles),
				tiffTag{258, []uint16{uint16(tc.bits)}}, tiffTag{259, []uint16{8}}, tiffTag{262, []uint16{1}}, tiffTag{277, []uint16{1}})
		}
		for range 4 {
			for _, length := range []int{whole, whole + 3_000} {
				wantLevel(t, name, file(0xc3, whole), 0xc3) // leaves its pixels in memory
				wantLevel(t, name, file(0x40, length), 0x40)
			}
		}
		broken := file(0x40, whole+3_000)
		clear(broken[4098:4120])
		wantRefused(t, name+", damaged", broken, true)
	}
}

// wantLevel decodes a grey TIFF file all of whose pixels have one level.
func wantLevel(t *testing.T, name string, file []byte, level byte) {
	t.Helper()
	_, frames, err := decodeTest(t, file, preprocess.TIFF, preprocess.DefaultLimits())
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if i := slices.IndexFunc(frames[0].pix, func(v byte) bool { return v != level }); i >= 0 {
		t.Errorf("%s: value %d of %d is %#x, want %#x", name, i, len(frames[0].pix), frames[0].pix[i], level)
	}
}

// TestTIFFWithDamagedJPEG: what is missing of a JPEG picture in a file was judged as grey.
func TestTIFFWithDamagedJPEG(t *testing.T) {
	t.Parallel()
	grey := func(w int) []byte {
		return byGo(t, func(b *bytes.Buffer) error {
			return jpeg.Encode(b, &image.Gray{Pix: noisePicture().Pix, Stride: w, Rect: image.Rect(0, 0, w, 64)}, nil)
		})
	}
	strip, tile, end := grey(96), grey(48), []byte{0xff, 0xd9}
	shared := testdata(t, "jpeg.tiff") // whose tables are apart
	zeroed := bytes.Clone(shared)
	clear(zeroed[8+318/2 : 8+318])
	overlapping := greyTIFF(7, strip)
	for tag, value := range map[uint16]int{273: 4096, 279: len(strip)} {
		const times = 100_000
		i := slices.IndexFunc(firstPage(overlapping).entries, func(e []byte) bool { return binary.LittleEndian.Uint16(e) == tag })
		binary.LittleEndian.PutUint32(overlapping[10+12*i+4:], times)
		binary.LittleEndian.PutUint32(overlapping[10+12*i+8:], uint32(len(overlapping)))
		overlapping = append(overlapping, bytes.Repeat(binary.LittleEndian.AppendUint16(nil, uint16(value)), times)...)
	}
	for name, tc := range map[string]struct {
		file    []byte
		refused bool
	}{
		"a strip":                {greyTIFF(7, strip), false},
		"a strip without end":    {greyTIFF(7, strip[:len(strip)-2]), false},
		"half of a strip":        {greyTIFF(7, strip[:len(strip)/2]), true},
		"half, with an end":      {greyTIFF(7, slices.Concat(strip[:len(strip)/2], end)), true},
		"half, with zeros":       {greyTIFF(7, slices.Concat(strip[:len(strip)/2], make([]byte, len(strip)/2))), true},
		"tiles":                  {greyTIFF(7, tile, tile), false},
		"one tile and a half":    {greyTIFF(7, tile, slices.Concat(tile[:len(tile)/2], end)), true},
		"shared tables":          {shared, false},
		"shared tables, a half":  {zeroed, true},
		"behind the file's end":  {greyTIFF(7, strip)[:4096+len(strip)/2], true},
		"the old way, cut off":   {greyTIFF(6, strip)[:4096+len(strip)/2], true},
		"strips over each other": {overlapping, true},
	} {
		wantRefused(t, name, tc.file, tc.refused)
	}
}

//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// rawBMP is the drawn picture in 32 bits, its rows from the top, with a header of so
// many bytes.
func rawBMP(header, compression uint32, alphaMask uint32, alpha byte) []byte {
	masks := []uint32{0x00ff0000, 0x0000ff00, 0x000000ff, alphaMask}
	info := binary.LittleEndian.AppendUint32(nil, header)
	for _, v := range []uint32{96, 0xffffffc0, 32<<16 | 1, compression, 96 * 64 * 4, 0, 0, 0, 0} {
		info = binary.LittleEndian.AppendUint32(info, v)
	}
	for _, m := range masks {
		info = binary.LittleEndian.AppendUint32(info, m)
	}
	info = append(info, make([]byte, 124)...)[:max(header, 40+12)] // those of a short header stand behind it
	b := []byte("BM")
	for _, v := range []uint32{uint32(14 + len(info) + 96*64*4), 0, uint32(14 + len(info))} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, info...)
	for y := range 64 {
		for x := range 96 {
			c := drawnColors()[x/48+y/32*2]
			b = append(b, c.B, c.G, c.R, alpha)
		}
	}
	return b
}

// TestBMPAlpha: pictures of 32 bits without alpha, as from the clipboard of Windows,
// have 0 where alpha would be, and were judged as a white sheet.
func TestBMPAlpha(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file []byte
		want quadrants
	}{
		"plain":               {rawBMP(40, 0, 0, 0), drawnColors()},
		"masks":               {rawBMP(40, 3, 0, 0), drawnColors()},
		"version 5, no alpha": {rawBMP(124, 3, 0, 0), drawnColors()},
		"version 5":           {rawBMP(124, 3, 0xff000000, 128), onWhiteAt(128)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, frames, err := decodeTest(t, tc.file, preprocess.BMP, preprocess.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			frames[0].expect(t, tc.want, 6)
		})
	}
}

// TestBMPOfOS2: pictures with the header of OS/2 were judged in grey.
func TestBMPOfOS2(t *testing.T) {
	t.Parallel()
	b := []byte("BM")
	for _, v := range []uint32{26 + 96*64*3, 0, 26, 12, 64<<16 | 96, 24<<16 | 1} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for y := range 64 {
		for x := range 96 {
			c := drawnColors()[x/48+(63-y)/32*2] // rows from the bottom
			b = append(b, c.B, c.G, c.R)
		}
	}
	_, frames, err := decodeTest(t, b, preprocess.BMP, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].expect(t, drawnColors(), 6)
}

// highBMP is a picture of one row of 16 bits a pixel, with these masks if there are any.
func highBMP(masks []uint32, row ...uint16) []byte {
	var compression uint32
	if masks != nil {
		compression = bmpBitFields
	}
	at := uint32(bmpMasks + 4*len(masks))
	b := []byte("BM")
	for _, v := range append([]uint32{at + uint32(2*len(row)), 0, at, 40, uint32(len(row)), 1, 16<<16 | 1, compression, 0, 0, 0, 0, 0}, masks...) {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	for _, v := range row {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b
}

// TestBMPOf16Bits: the lowest bits of each colour were left 0, so that what is white was
// judged as a light grey, and all the rest too dark.
func TestBMPOf16Bits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file []byte
		want string // of blue, green and red
	}{
		"555":        {highBMP(nil, 0x7fff, 0, 0x7c00, 16<<5|1), "\xff\xff\xff\x00\x00\x00\x00\x00\xff\x08\x84\x00"},
		"555, masks": {highBMP([]uint32{0x7c00, 0x03e0, 0x001f}, 0x7fff, 0, 0x7c00, 16<<5|1), "\xff\xff\xff\x00\x00\x00\x00\x00\xff\x08\x84\x00"},
		"565":        {highBMP([]uint32{0xf800, 0x07e0, 0x001f}, 0xffff, 0, 0xf800, 33<<5|1), "\xff\xff\xff\x00\x00\x00\x00\x00\xff\x08\x86\x00"},
	} {
		mat, err := decodeBMP(tc.file)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := string(mat.ToBytes()); got != tc.want {
			t.Errorf("%s: got %x, want %x", name, got, tc.want)
		}
		closeMat(&mat)
	}
}

// TestBMPOf16BitsWithALongHeader: with the headers of versions 2 to 5, in which masks are, as GIMP
// and Photoshop write them, such pictures were refused as damaged.
func TestBMPOf16BitsWithALongHeader(t *testing.T) {
	t.Parallel()
	short := highBMP([]uint32{0xf800, 0x07e0, 0x001f}, 0xffff, 0, 0xf800, 33<<5|1)
	const behind = bmpMasks + 3*4
	for _, header := range []uint32{52, 56, 108, 124} {
		file := slices.Concat(short[:behind], make([]byte, 14+header-behind), short[behind:])
		binary.LittleEndian.PutUint32(file[bmpPixels:], 14+header)
		binary.LittleEndian.PutUint32(file[bmpHeader:], header)
		mat, err := decodeBMP(file)
		if err != nil {
			t.Fatalf("%d bytes: %v", header, err)
		}
		if got, want := string(mat.ToBytes()), "\xff\xff\xff\x00\x00\x00\x00\x00\xff\x08\x86\x00"; got != want {
			t.Errorf("%d bytes: got %x, want %x", header, got, want)
		}
		closeMat(&mat)
	}
}

// TestBMPMasks: pictures whose masks name an order of colours other than the usual
// one were judged with red and blue exchanged where their header is short.
func TestBMPMasks(t *testing.T) {
	t.Parallel()
	masked := func(header uint32, masks ...uint32) []byte {
		file := rawBMP(header, 3, 0, 0)
		for i, m := range masks {
			binary.LittleEndian.PutUint32(file[bmpMasks+4*i:], m)
		}
		return file
	}
	exchanged := drawnColors()
	for i, c := range exchanged {
		exchanged[i].R, exchanged[i].B = c.B, c.R
	}
	_, frames, err := decodeTest(t, masked(108, 0xff, 0xff00, 0xff0000), preprocess.BMP, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].expect(t, exchanged, 6)
	for name, file := range map[string][]byte{
		"short header": masked(40, 0xff, 0xff00, 0xff0000),
		"10 bits":      masked(108, 0x3ff00000, 0xffc00, 0x3ff),
		"none":         masked(40, 0, 0, 0),
	} {
		_, _, err := decodeTest(t, file, preprocess.BMP, preprocess.DefaultLimits())
		t.Run(name, func(t *testing.T) {
			wantFault(t, err, preprocess.UnsupportedMediaType, "which colour is not supported")
		})
	}
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// withProperty gives the main picture of a HEIF file, its first item, one more property. The
// description that has it stands behind everything, so that nothing else moves.
func withProperty(data []byte, kind string, body []byte) []byte {
	at := bytes.Index(data, []byte("meta")) - 4
	meta := bytes.Clone(data[at:][:binary.BigEndian.Uint32(data[at:])])
	find := func(kind string) int { return bytes.Index(meta, []byte(kind)) - 4 }
	insert := func(at int, what []byte, around ...string) {
		for _, kind := range around {
			b := meta[find(kind):]
			binary.BigEndian.PutUint32(b, binary.BigEndian.Uint32(b)+uint32(len(what)))
		}
		meta = slices.Insert(meta, at, what...)
	}
	ipco := find("ipco")
	end, n := ipco+int(binary.BigEndian.Uint32(meta[ipco:])), 1
	for i := ipco + 8; i < end; i += int(binary.BigEndian.Uint32(meta[i:])) {
		n++
	}
	property := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	insert(end, slices.Concat(property, []byte(kind), body), "meta", "iprp", "ipco")
	first := find("ipma") + 16 // its item, of two bytes, and how many properties it has
	meta[first+2]++
	insert(first+3, []byte{0x80 | byte(n)}, "meta", "iprp", "ipma")
	file := slices.Concat(data, meta)
	copy(file[at+4:], "free")
	return file
}

// aperture is the body of a clap box.
func aperture(width, height, right, down int32) []byte {
	var b []byte
	for _, v := range []int32{width, height, right, down} {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, uint32(v)), 1)
	}
	return b
}

// TestCleanAperture: of AVIF files that say which part is to be seen, as cropped ones do, all
// that is stored was judged.
func TestCleanAperture(t *testing.T) {
	t.Parallel()
	c := drawnColors()
	for name, tc := range map[string]struct {
		file          string
		format        preprocess.Format
		clap          []byte
		width, height int
		want          quadrants
	}{
		"upper half":          {"orientation1.avif", preprocess.AVIF, aperture(96, 32, 0, -16), 96, 32, quadrants{c[0], c[1], c[0], c[1]}},
		"right half":          {"orientation1.avif", preprocess.AVIF, aperture(48, 64, 24, 0), 48, 64, quadrants{c[1], c[1], c[3], c[3]}},
		"before it is turned": {"orientation6.avif", preprocess.AVIF, aperture(64, 48, 0, -24), 48, 64, quadrants{c[1], c[1], c[3], c[3]}},
		"transparent":         {"alpha.avif", preprocess.AVIF, aperture(96, 32, 0, -16), 96, 32, onWhiteOf(128, 0, 1, 0, 1)},
		"10 bits":             {"deep-alpha.avif", preprocess.AVIF, aperture(96, 32, 0, 16), 96, 32, onWhiteOf(128, 2, 3, 2, 3)},
		"beyond the picture":  {"orientation1.avif", preprocess.AVIF, aperture(96, 32, 0, -17), 96, 64, c},
		"HEIC":                {"orientation1.heic", preprocess.HEIC, aperture(192, 64, 0, -32), 192, 64, quadrants{c[0], c[1], c[0], c[1]}},
		"HEIC, turned":        {"orientation6.heic", preprocess.HEIC, aperture(64, 192, -32, 0), 192, 64, quadrants{c[0], c[1], c[0], c[1]}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, frames, err := decodeTest(t, withProperty(testdata(t, tc.file), "clap", tc.clap), tc.format, preprocess.DefaultLimits())
			if err != nil || found.Width != tc.width || found.Height != tc.height {
				t.Fatalf("found %+v, %v", found, err)
			}
			frames[0].expect(t, tc.want, 12)
		})
	}
}

// onWhiteOf is some of the drawn colours on white.
func onWhiteOf(alpha int, which ...int) quadrants {
	var q quadrants
	for i, k := range which {
		q[i] = onWhiteAt(alpha)[k]
	}
	return q
}

func TestNarrowHEICIsRefused(t *testing.T) {
	t.Parallel()
	_, _, err := decodeTest(t, testdata(t, "narrow.heic"), preprocess.HEIC, preprocess.DefaultLimits())
	wantFault(t, err, preprocess.UnsupportedMediaType, "narrower than 128")
}

// TestDeepHEICOfAllColours: what has more than 8 bits and colours for each pixel was said to be damaged, since the
// library had a fault of its own at it.
func TestDeepHEICOfAllColours(t *testing.T) {
	t.Parallel()
	for bits, format := range map[int]string{10: "yuv444p10le", 12: "yuv444p12le"} {
		hvcC, coded := codedBy(t, 192, twice(0, 192, 255), coding{"smpte170m", true}, "hvcC",
			"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:qp=8:info=0", "-pix_fmt", format)
		file := heifFile("heicmif1", []item{{"hvc1", coded, []byte{1, 2}, false}}, [][]byte{size(192), hvcC})
		_, _, err := decodeTest(t, file, preprocess.HEIC, preprocess.DefaultLimits())
		wantFault(t, err, preprocess.UnsupportedMediaType, fmt.Sprintf("%d bits and colours for each pixel", bits))
	}
}

// TestHEICBrokenOff: of a copy that was broken off and has its full length, green or black was
// judged in the place of what is missing.
func TestHEICBrokenOff(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orientation1.heic", "chroma444.heic", "alpha.heic"} {
		data := testdata(t, name)
		coded := bytes.Index(data, []byte("mdat")) + 4
		length := int(binary.BigEndian.Uint32(data[coded:])) // EXIF data may come behind
		for _, part := range []int{2, 4, 8} {
			broken := bytes.Clone(data)
			clear(broken[coded+4+length-length/part:])
			if _, _, err := decodeTest(t, broken, preprocess.HEIC, preprocess.DefaultLimits()); err == nil {
				t.Errorf("%s without its last 1/%d is judged", name, part)
			}
		}
	}
}

// The HEIC library frees the memory of the picture that it returns, so that the first 24 pixels were the
// allocator's: garbage that went by the length of the file, and moved the verdict of small pictures.
func TestHEICHasItsFirstPixels(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orientation1.heic", "grey.heic", "chroma444.heic", "deep.heic", "bt709-limited.heic", "alpha.heic"} {
		_, frames, err := decodeTest(t, testdata(t, name), preprocess.HEIC, preprocess.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		f := frames[0]
		for i := range 3 * 30 { // the pictures are of one colour there
			if first, far := f.pix[i], f.pix[3*(10*f.Width+40)+i%3]; max(first, far)-min(first, far) > 12 {
				t.Errorf("%s: pixel %d has %d of colour %d, and one further off has %d", name, i/3, first, i%3, far)
				break
			}
		}
	}
}

// TestAVIFOfAFilmsBrand: what is recognised as a picture although its major brand is a film's is decoded as one.
func TestAVIFOfAFilmsBrand(t *testing.T) {
	t.Parallel()
	for _, major := range []string{"isom", "mp41", "qt  "} {
		file := testdata(t, "orientation1.avif")
		copy(file[8:], major)
		_, frames, err := decodeTest(t, file, preprocess.AVIF, preprocess.DefaultLimits())
		if err != nil {
			t.Fatalf("%q: %v", major, err)
		}
		frames[0].expect(t, drawnColors(), 12)
	}
}

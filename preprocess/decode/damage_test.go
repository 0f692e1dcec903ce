//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// wantFault asserts that err is the client's, with that code and those words.
func wantFault(t testing.TB, err error, code preprocess.Code, words string) {
	t.Helper()
	var fault *preprocess.Error
	if !errors.As(err, &fault) || fault.Code != code || !strings.Contains(fault.Message, words) {
		t.Fatalf("got %v, want %s with %q", err, code, words)
	}
}

// samples are one good file of each format.
func samples(t testing.TB) map[preprocess.Format][]byte {
	t.Helper()
	drawn := drawQuadrants(255)
	return map[preprocess.Format][]byte{
		preprocess.JPEG: byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, drawn, nil) }),
		preprocess.PNG:  byGo(t, func(b *bytes.Buffer) error { return png.Encode(b, drawn) }),
		preprocess.GIF: byGo(t, func(b *bytes.Buffer) error {
			return gif.EncodeAll(b, &gif.GIF{Image: []*image.Paletted{disc(image.Rect(0, 0, 96, 64), 1)}, Delay: []int{1}})
		}),
		preprocess.WebP: byOpenCV(t, drawn, false, ".webp", 64, 90),
		preprocess.BMP:  byOpenCV(t, drawn, false, ".bmp"),
		preprocess.TIFF: testdata(t, "lzw.tiff"),
		preprocess.HEIC: testdata(t, "orientation1.heic"),
		preprocess.AVIF: testdata(t, "orientation1.avif"),
	}
}

func TestTruncatedFilesAreErrors(t *testing.T) {
	t.Parallel()
	for format, data := range samples(t) {
		for name, part := range map[string][]byte{
			"half":      data[:len(data)/2],
			"most":      data[:len(data)*9/10],
			"beginning": data[:min(len(data), 40)],
		} {
			t.Run(string(format)+" "+name, func(t *testing.T) {
				t.Parallel()
				_, frames, err := decodeTest(t, part, format, preprocess.DefaultLimits())
				if err == nil {
					t.Fatalf("no error, and %d frames", len(frames))
				}
			})
		}
	}
}

// TestJPEGWithoutEnd: what lacks its end marker alone, or a few bytes, is shown
// by browsers, and was refused as truncated.
func TestJPEGWithoutEnd(t *testing.T) {
	t.Parallel()
	drawn := drawQuadrants(255)
	noise := image.NewGray(image.Rect(0, 0, 96, 64))
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i * 31 >> 3)
	}
	for name, data := range map[string][]byte{
		"baseline":    byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, drawn, nil) }),
		"noise":       byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noise, nil) }),
		"progressive": byOpenCV(t, drawn, false, gocv.JPEGFileExt, 2, 1),
		"CMYK":        testdata(t, "cmyk-plain.jpg"),
	} {
		for missing, whole := range map[int]bool{1: true, 2: true, 3: true, len(data) / 4: false, len(data) / 2: false} {
			_, frames, err := decodeTest(t, data[:len(data)-missing], preprocess.JPEG, preprocess.DefaultLimits())
			switch {
			case whole != (err == nil):
				t.Errorf("%s without the last %d bytes of %d: %v", name, missing, len(data), err)
			case whole && name != "noise":
				frames[0].expect(t, drawnColors(), 8)
			}
		}
	}
}

// TestJPEGFilledUp: a file of which a part was copied had a verdict on that and on grey
// where zeros stood for the rest, as where room for the whole file had been made before,
// or an end marker, as cameras put behind a picture that they break off.
func TestJPEGFilledUp(t *testing.T) {
	t.Parallel()
	noise := image.NewNRGBA(image.Rect(0, 0, 96, 64))
	for i := range noise.Pix {
		noise.Pix[i] = byte(i * i * 31 >> 3)
	}
	for name, data := range map[string][]byte{
		"baseline":    byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, noise, nil) }),
		"progressive": byOpenCV(t, noise, false, gocv.JPEGFileExt, 2, 1),
		"restarts":    byOpenCV(t, noise, false, gocv.JPEGFileExt, 4, 2),
	} {
		for fill, rest := range map[string][]byte{"zeros": make([]byte, len(data)), "an end": {0xff, 0xd9}} {
			for missing, whole := range map[int]bool{2: true, len(data) / 4: false, len(data) / 2: false} {
				part := slices.Concat(data[:len(data)-missing], rest)
				if _, _, err := decodeTest(t, part, preprocess.JPEG, preprocess.DefaultLimits()); whole != (err == nil) {
					t.Errorf("%s, %d bytes of %d missing, and %s: %v", name, missing, len(data), fill, err)
				}
			}
		}
	}
}

// TestJPEGWithoutItsLastScans: a progressive picture that was cut between two scans and given an
// end, as a server does that stops sending, was judged like a whole one: a blur, and nobody was told.
func TestJPEGWithoutItsLastScans(t *testing.T) {
	t.Parallel()
	data := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt, 2, 1)
	var scans []int
	for at, b := range data {
		if b == 0xff && data[at+1] == 0xda {
			scans = append(scans, at)
		}
	}
	for i, at := range scans[1:] {
		found, _, err := decodeTest(t, slices.Concat(data[:at], []byte{0xff, 0xd9}), preprocess.JPEG, preprocess.DefaultLimits())
		if err != nil || !slices.Equal(found.Notes, []preprocess.Note{preprocess.Incomplete}) {
			t.Errorf("with %d of %d scans: notes %q, %v", i+1, len(scans), found.Notes, err)
		}
		if _, _, err := decodeTest(t, data[:at], preprocess.JPEG, preprocess.DefaultLimits()); err == nil {
			t.Errorf("with %d of %d scans and no end it is judged", i+1, len(scans))
		}
	}
	if found, _, err := decodeTest(t, data, preprocess.JPEG, preprocess.DefaultLimits()); err != nil || found.Notes != nil {
		t.Errorf("whole: notes %q, %v", found.Notes, err)
	}
}

// noisePicture compresses badly, so that every part of its file is needed.
func noisePicture() *image.NRGBA {
	noise := image.NewNRGBA(image.Rect(0, 0, 256, 256))
	seed := uint32(1)
	for i := range noise.Pix {
		seed = seed*1664525 + 1013904223
		noise.Pix[i] = byte(seed >> 24)
	}
	return noise
}

// withStrayBytes has two bytes before the first scan of a JPEG file.
func withStrayBytes(data []byte) []byte {
	at := bytes.Index(data, []byte{0xff, 0xda})
	return slices.Concat(data[:at], []byte{0, 0}, data[at:])
}

// TestJPEGFilledUpBehindOddities: the library tells of the first thing only that it finds
// odd. Where that was harmless, or a part of the pixels was missing from the middle, grey or
// what zeros decode to was judged in place of what was missing.
func TestJPEGFilledUpBehindOddities(t *testing.T) {
	t.Parallel()
	data := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt)
	progressive := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt, 2, 1)
	restarts := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt, 4, 8) // intervals of 8 blocks
	second, seventh := bytes.Index(restarts, []byte{0xff, 0xd2}), bytes.Index(restarts, []byte{0xff, 0xd7})
	zeroed := func(from, to int) []byte {
		return slices.Concat(data[:from], make([]byte, to-from), data[to:])
	}
	end := []byte{0xff, 0xd9}
	for name, test := range map[string][]byte{
		"a third":              slices.Concat(withStrayBytes(data)[:len(data)/3], end),
		"a third, progressive": slices.Concat(withStrayBytes(progressive)[:len(data)/3], end),
		"without intervals":    slices.Concat(restarts[:second], restarts[seventh:]),
		"zeros in the middle":  zeroed(len(data)/4, len(data)*9/10),
		"zeros up to the end":  zeroed(len(data)/4, len(data)-2),
	} {
		if _, _, err := decodeTest(t, test, preprocess.JPEG, preprocess.DefaultLimits()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestJPEGsFilledUpAtOnce: TurboJPEG keeps its warnings for the thread, and Go had moved to
// another one before it asked for them. Of files decoded at the same time, one that was filled
// up was looked at for what had been warned of in another, and judged.
func TestJPEGsFilledUpAtOnce(t *testing.T) {
	t.Parallel()
	data := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt)
	zeros := slices.Concat(data[:len(data)/4], make([]byte, len(data)*3/4-2), []byte{0xff, 0xd9})
	var decoding sync.WaitGroup
	for range 8 {
		decoding.Go(func() {
			for range 25 {
				for name, test := range map[string]struct {
					data  []byte
					whole bool
				}{"stray bytes": {withStrayBytes(data), true}, "zeros up to the end": {zeros, false}} {
					_, _, err := decodeTest(t, test.data, preprocess.JPEG, preprocess.DefaultLimits())
					if test.whole != (err == nil) {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			}
		})
	}
	decoding.Wait()
}

// TestOddJPEG: what the library warns of is looked at once more, which must not cost a
// picture whose pixels are all there.
func TestOddJPEG(t *testing.T) {
	t.Parallel()
	data := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt)
	restarts := byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt, 4, 8)
	second := bytes.Index(restarts, []byte{0xff, 0xd2})
	within := func(stray string) []byte { return slices.Concat(restarts[:second], []byte(stray), restarts[second:]) }
	last := func(data []byte, rest ...byte) []byte {
		return slices.Concat(data[:len(data)-2], rest, []byte{0xff, 0xd9})
	}
	patched := func(data []byte, marker byte, at int, with ...byte) []byte {
		data = bytes.Clone(data)
		copy(data[bytes.Index(data, []byte{0xff, marker})+at:], with)
		return data
	}
	for name, test := range map[string][]byte{
		"stray bytes":                 withStrayBytes(data),
		"stray bytes, progressive":    withStrayBytes(byOpenCV(t, noisePicture(), false, gocv.JPEGFileExt, 2, 1)),
		"stray bytes, restarts":       withStrayBytes(restarts),
		"stray bytes, CMYK":           withStrayBytes(testdata(t, "cmyk-halved.jpg")),
		"stray bytes in a scan":       within("stray"),
		"fill bytes in a scan":        within("\xff\xff"),
		"zeros before the end":        last(data, make([]byte, 5000)...),
		"other pixels before the end": last(data, data[len(data)/2:len(data)-2]...),
		"a restart before the end":    last(restarts, 0xff, 0xd0),
		"bytes behind the end":        slices.Concat(withStrayBytes(data), data),
		"a JFIF of tomorrow":          patched(data, 0xe0, 9, 9),
		"a scan of some coefficients": patched(data, 0xda, 11, 0, 0, 0),
		"components of one name":      withStrayBytes(patched(patched(data, 0xc0, 13, 2, 0x11, 1, 2), 0xda, 9, 2)),
	} {
		if found, _, err := decodeTest(t, test, preprocess.JPEG, preprocess.DefaultLimits()); err != nil || found.Notes != nil {
			t.Errorf("%s: notes %q, %v", name, found.Notes, err)
		}
	}
}

// TestDamagedAVIFIsAnError: the library calls it a success and leaves the
// picture as it was. Of one with transparency, what had been in the memory before
// was judged.
func TestDamagedAVIFIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orientation1.avif", "alpha.avif", "deep-alpha.avif", "transparent.avif"} {
		data := bytes.Clone(testdata(t, name))
		coded := data[bytes.Index(data, []byte("mdat"))+4:]
		for i := range coded {
			coded[i] = 0xa5
		}
		if _, _, err := decodeTest(t, data, preprocess.AVIF, preprocess.DefaultLimits()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestDamagedFilesDoNoHarm flips bytes: an error or a picture, but no crash and
// nothing left over.
func TestDamagedFilesDoNoHarm(t *testing.T) {
	t.Parallel()
	for format, data := range samples(t) {
		t.Run(string(format), func(t *testing.T) {
			t.Parallel()
			for i := 8; i < len(data); i += max(1, len(data)/40) {
				damaged := bytes.Clone(data)
				damaged[i] ^= 0xff
				_, _, _ = decodeTest(t, damaged, format, preprocess.DefaultLimits())
			}
		})
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	cyclic := bytes.Clone(testdata(t, "lzw.tiff"))
	at := binary.LittleEndian.Uint32(cyclic[4:])
	entries := binary.LittleEndian.Uint16(cyclic[at:])
	binary.LittleEndian.PutUint32(cyclic[at+2+12*uint32(entries):], at) // the next directory is the first
	_, frames, err := decodeTest(t, cyclic, preprocess.TIFF, preprocess.DefaultLimits())
	if err == nil {
		frames[0].expect(t, drawnColors(), 4)
	}

	limits := preprocess.DefaultLimits()
	limits.Pixels = 4096
	for format, data := range samples(t) {
		if _, _, err := decodeTest(t, data, format, limits); err == nil {
			t.Errorf("%s passes a limit of %d pixels", format, limits.Pixels)
		}
	}

	tiny := []byte("GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff")
	frame := []byte("\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00")
	million := append(append(tiny, bytes.Repeat(frame, 1_000_000)...), 0x3b)
	_, _, err = decodeTest(t, million, preprocess.GIF, preprocess.DefaultLimits())
	wantFault(t, err, preprocess.PayloadTooLarge, "at most 50000 frames and 2000 million pixels")
}

// TestShrinking checks the canonical size, and that what is not shrunk and
// already lossy is passed on bit by bit.
func TestShrinking(t *testing.T) {
	t.Parallel()
	limits := preprocess.DefaultLimits()
	limits.Side = 224
	large := image.NewNRGBA(image.Rect(0, 0, 900, 301))
	for i := range large.Pix {
		large.Pix[i] = 200
	}
	data := byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, large, nil) })
	found, frames, err := decodeTest(t, data, preprocess.JPEG, limits)
	if err != nil {
		t.Fatal(err)
	}
	if found.Width != 900 || found.Height != 301 || frames[0].Width != 224 || frames[0].Height != 75 {
		t.Fatalf("found %+v, frame of %d by %d", found, frames[0].Width, frames[0].Height)
	}
	drawn := samples(t)[preprocess.JPEG]
	_, frames, err = decodeTest(t, drawn, preprocess.JPEG, limits)
	if err != nil {
		t.Fatal(err)
	}
	mat, err := gocv.IMDecode(drawn, gocv.IMReadColor)
	if err != nil {
		t.Fatal(err)
	}
	mat, err = converted(mat, gocv.ColorBGRToRGB)
	if err != nil {
		t.Fatal(err)
	}
	defer closeMat(&mat)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pix, frames[0].pix) {
		t.Fatal("a small JPEG is changed")
	}
}

// TestDamagedEXIFIsIgnored: damaged EXIF data is not held against a picture.
func TestDamagedEXIFIsIgnored(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/orientation1.jpg")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte("Exif\x00\x00"))
	for i := range 12 {
		data[at+6+i] = 0xff
	}
	_, frames, err := decodeTest(t, data, preprocess.JPEG, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].expect(t, drawnColors(), 8)
}

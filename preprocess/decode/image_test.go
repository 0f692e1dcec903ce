//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// byGo encodes with one of Go's encoders.
func byGo(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// byOpenCV encodes with OpenCV.
func byOpenCV(t testing.TB, img *image.NRGBA, alpha bool, ext gocv.FileExt, params ...int) []byte {
	t.Helper()
	size := img.Rect.Size()
	mat := gocv.NewMatWithSize(size.Y, size.X, gocv.MatTypeCV8UC4)
	defer func() { closeMat(&mat) }()
	pix, err := mat.DataPtrUint8()
	if err != nil {
		t.Fatal(err)
	}
	straight(img, pix)
	if !alpha {
		if mat, err = converted(mat, gocv.ColorBGRAToBGR); err != nil {
			t.Fatal(err)
		}
	}
	coded, err := gocv.IMEncodeWithParams(ext, mat, append(params, gocv.IMWriteJpegQuality, 92))
	if err != nil {
		t.Fatal(err)
	}
	defer coded.Close()
	return bytes.Clone(coded.GetBytes())
}

// greyOf is the drawn picture in grey, and the colours that come of it.
func greyOf() (*image.Gray, quadrants) {
	img := image.NewGray(image.Rect(0, 0, 96, 64))
	draw.Draw(img, img.Rect, drawQuadrants(255), image.Point{}, draw.Src)
	var q quadrants
	for i, c := range drawnColors() {
		g := color.GrayModel.Convert(c).(color.Gray).Y
		q[i] = color.NRGBA{g, g, g, 255}
	}
	return img, q
}

// drawnScale is how much larger than 96 by 64 the drawn pictures are.
func drawnScale(format preprocess.Format) int {
	if format == preprocess.HEIC {
		return 2
	}
	return 1
}

func TestStills(t *testing.T) {
	t.Parallel()
	grey, greys := greyOf()
	colors := drawnColors()
	drawn := drawQuadrants(255)
	deep := image.NewNRGBA64(drawn.Rect)
	draw.Draw(deep, deep.Rect, drawn, image.Point{}, draw.Src)
	few := image.NewPaletted(drawn.Rect, color.Palette{colors[0], colors[1], colors[2], colors[3]})
	draw.Draw(few, few.Rect, drawn, image.Point{}, draw.Src)
	at := func(x, y int) color.NRGBA { return colors[x/48+y/32*2] }
	key := quadrants{{255, 255, 255, 255}, colors[1], colors[2], colors[3]}
	half := onWhiteAt(128)
	for _, test := range []struct {
		name      string
		format    preprocess.Format
		data      []byte
		want      quadrants
		tolerance int
	}{
		{"JPEG", preprocess.JPEG, byGo(t, func(b *bytes.Buffer) error {
			return jpeg.Encode(b, drawn, &jpeg.Options{Quality: 92})
		}), colors, 4},
		{"JPEG progressive", preprocess.JPEG, byOpenCV(t, drawn, false, gocv.JPEGFileExt, 2, 1), colors, 4},
		{"JPEG grey", preprocess.JPEG, byGo(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, grey, nil) }), greys, 4},
		{"JPEG CMYK by Adobe", preprocess.JPEG, testdata(t, "cmyk-adobe.jpg"), colors, 6},
		// Of inks that are halved, as Pillow writes them with subsampling, Go's decoder made nothing,
		// and the file was refused as damaged.
		{"JPEG CMYK halved", preprocess.JPEG, testdata(t, "cmyk-halved.jpg"), colors, 6},
		{"JPEG CMYK plain", preprocess.JPEG, testdata(t, "cmyk-plain.jpg"), colors, 6},

		{"PNG", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error { return png.Encode(b, drawn) }), colors, 4},
		{"PNG 16-bit", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error { return png.Encode(b, deep) }), colors, 4},
		{"PNG palette", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error { return png.Encode(b, few) }), colors, 4},
		{"PNG grey", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error { return png.Encode(b, grey) }), greys, 4},
		{"PNG alpha", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error {
			return png.Encode(b, drawQuadrants(128))
		}), half, 4},
		{"PNG transparent", preprocess.PNG, byGo(t, func(b *bytes.Buffer) error {
			return png.Encode(b, drawQuadrants(0))
		}), all(255, 255, 255), 2},
		{"PNG grey and alpha", preprocess.PNG, rawPNG{
			width: 96, height: 64, depth: 8, color: 4,
			pixel: func(_, _ int) []byte { return []byte{100, 128} },
		}.encode(t), all(177, 177, 177), 3},
		{"PNG 16-bit grey and alpha", preprocess.PNG, rawPNG{
			width: 96, height: 64, depth: 16, color: 4,
			pixel: func(_, _ int) []byte { return []byte{100, 0, 128, 0} },
		}.encode(t), all(177, 177, 177), 3},
		{"PNG interlaced", preprocess.PNG, rawPNG{
			width: 96, height: 64, depth: 8, color: 2, interlaced: true,
			pixel: func(x, y int) []byte { c := at(x, y); return []byte{c.R, c.G, c.B} },
		}.encode(t), colors, 4},
		{"PNG colour key", preprocess.PNG, rawPNG{
			width: 96, height: 64, depth: 8, color: 2, extra: chunk("tRNS", []byte{0, 220, 0, 40, 0, 30}),
			pixel: func(x, y int) []byte { c := at(x, y); return []byte{c.R, c.G, c.B} },
		}.encode(t), key, 4},
		{"PNG palette with alpha", preprocess.PNG, rawPNG{
			width: 96, height: 64, depth: 8, color: 3,
			extra: append(chunk("PLTE", []byte{220, 40, 30, 30, 180, 60, 40, 60, 210, 230, 210, 40}), chunk("tRNS", []byte{0})...),
			pixel: func(x, y int) []byte { return []byte{byte(x/48 + y/32*2)} },
		}.encode(t), key, 4},

		{"WebP", preprocess.WebP, byOpenCV(t, drawn, false, ".webp", 64, 90), colors, 6},
		{"WebP lossless", preprocess.WebP, byOpenCV(t, drawn, false, ".webp", 64, 101), colors, 4},
		{"WebP alpha", preprocess.WebP, byOpenCV(t, drawQuadrants(128), true, ".webp", 64, 90), half, 6},
		{"WebP lossless alpha", preprocess.WebP, byOpenCV(t, drawQuadrants(128), true, ".webp", 64, 101), half, 4},
		{"GIF", preprocess.GIF, byGo(t, func(b *bytes.Buffer) error { return gif.Encode(b, few, nil) }), colors, 4},
		{"BMP", preprocess.BMP, byOpenCV(t, drawn, false, ".bmp"), colors, 4},

		{"TIFF raw", preprocess.TIFF, testdata(t, "raw.tiff"), colors, 4},
		{"TIFF LZW", preprocess.TIFF, testdata(t, "lzw.tiff"), colors, 4},
		{"TIFF Deflate", preprocess.TIFF, testdata(t, "adobe_deflate.tiff"), colors, 4},
		{"TIFF PackBits", preprocess.TIFF, testdata(t, "packbits.tiff"), colors, 4},
		{"TIFF JPEG", preprocess.TIFF, testdata(t, "jpeg.tiff"), colors, 8},
		{"TIFF palette", preprocess.TIFF, testdata(t, "palette.tiff"), colors, 40}, // of web colours
		{"TIFF CMYK", preprocess.TIFF, testdata(t, "cmyk.tiff"), colors, 6},
		{"TIFF alpha", preprocess.TIFF, testdata(t, "alpha.tiff"), half, 4},
		{"TIFF of several pages", preprocess.TIFF, testdata(t, "pages.tiff"), colors, 4},

		{"HEIC", preprocess.HEIC, testdata(t, "orientation1.heic"), colors, 8},
		{"HEIC BT.709 limited", preprocess.HEIC, testdata(t, "bt709-limited.heic"), colors, 8},
		{"HEIC grey", preprocess.HEIC, testdata(t, "grey.heic"), greys, 8},
		{"HEIC 4:4:4", preprocess.HEIC, testdata(t, "chroma444.heic"), colors, 8},
		{"HEIC 10-bit", preprocess.HEIC, testdata(t, "deep.heic"), colors, 8},
		// The library's encoder is not used: its first call writes a variable that
		// decoding in other tests reads, a data race that slow machines found.
		{"HEIC alpha", preprocess.HEIC, testdata(t, "alpha.heic"), half, 12},                                          // was shown opaque
		{"HEIC alpha and more behind it", preprocess.HEIC, append(testdata(t, "alpha.heic"), "rubbish"...), half, 12}, // so was this
		{"AVIF", preprocess.AVIF, testdata(t, "orientation1.avif"), colors, 12},
		{"AVIF 10-bit", preprocess.AVIF, testdata(t, "deep.avif"), colors, 12},
		{"AVIF alpha", preprocess.AVIF, testdata(t, "alpha.avif"), half, 12},
		{"AVIF 10-bit alpha", preprocess.AVIF, testdata(t, "deep-alpha.avif"), half, 12},
		// Refused as damaged: the library leaves it as blank as one that it cannot decode.
		{"AVIF transparent", preprocess.AVIF, testdata(t, "transparent.avif"), all(255, 255, 255), 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, frames, err := decodeTest(t, test.data, test.format, preprocess.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			scale := drawnScale(test.format)
			if found.Kind != preprocess.Image || found.Width != 96*scale || found.Height != 64*scale || found.Duration != 0 {
				t.Fatalf("found %+v", found)
			}
			if len(frames) != 1 || frames[0].Width != found.Width || frames[0].Height != found.Height {
				t.Fatalf("%d frames", len(frames))
			}
			frames[0].expect(t, test.want, test.tolerance)
		})
	}
}

func TestOrientations(t *testing.T) {
	t.Parallel()
	for ext, format := range map[string]preprocess.Format{
		"jpg": preprocess.JPEG, "png": preprocess.PNG, "webp": preprocess.WebP, "tiff": preprocess.TIFF,
		"heic": preprocess.HEIC, "avif": preprocess.AVIF,
	} {
		for o := 1; o <= 8; o++ {
			name := fmt.Sprintf("orientation%d.%s", o, ext)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				found, frames, err := decodeTest(t, testdata(t, name), format, preprocess.DefaultLimits())
				if err != nil {
					t.Fatal(err)
				}
				if found.Width != 96*drawnScale(format) || found.Height != 64*drawnScale(format) {
					t.Fatalf("found %+v", found)
				}
				frames[0].expect(t, drawnColors(), 12)
			})
		}
	}
}

// TestOrientationOfWebP: the picture stayed on its side where a chunk of odd
// length, as a colour profile or lossless pixels may be, stands before the EXIF
// data, or these begin as in JPEG.
func TestOrientationOfWebP(t *testing.T) {
	t.Parallel()
	plain := testdata(t, "orientation6.webp")
	const canvas = 12 + 8 + 10 // up to the end of the first chunk
	odd := slices.Concat(plain[:canvas], []byte("ICCP\x03\x00\x00\x00odd\x00"), plain[canvas:])
	at := bytes.Index(plain, []byte("EXIF")) + 8
	marked := slices.Concat(plain[:at], []byte("Exif\x00\x00"), plain[at:])
	marked[at-4] += 6
	for name, data := range map[string][]byte{"odd": odd, "marked": marked} {
		binary.LittleEndian.PutUint32(data[4:], uint32(len(data)-8))
		found, frames, err := decodeTest(t, data, preprocess.WebP, preprocess.DefaultLimits())
		if err != nil || found.Width != 96 {
			t.Fatalf("%s: found %+v, %v", name, found, err)
		}
		frames[0].expect(t, drawnColors(), 12)
	}
}

// TestOrientationOfAJPEGWithStrayBytes: the picture stayed on its side where there
// is something between the segments, as some cameras leave it.
func TestOrientationOfAJPEGWithStrayBytes(t *testing.T) {
	t.Parallel()
	plain := testdata(t, "orientation6.jpg")
	for _, stray := range []string{"\xff", "\x00\x00\x00", "stray"} {
		data := slices.Concat(plain[:2], []byte(stray), plain[2:])
		found, frames, err := decodeTest(t, data, preprocess.JPEG, preprocess.DefaultLimits())
		if err != nil || found.Width != 96 {
			t.Fatalf("%q: found %+v, %v", stray, found, err)
		}
		frames[0].expect(t, drawnColors(), 12)
	}
}

// tiffOf is EXIF data that say 6 behind a tag of some other type.
func tiffOf(order binary.AppendByteOrder, kind uint16) []byte {
	data := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		data = []byte("MM\x00*")
	}
	data = order.AppendUint16(order.AppendUint32(data, 8), 2)
	for _, entry := range [][3]uint16{{0x10f, kind, 0}, {0x112, 3, 6}} {
		data = order.AppendUint16(order.AppendUint16(data, entry[0]), entry[1])
		data = order.AppendUint16(order.AppendUint32(data, 1), entry[2])
		data = append(data, 0, 0)
	}
	return append(data, 0, 0, 0, 0)
}

// TestOrientationBehindUnknownTypes: the picture stayed on its side where a tag before its
// orientation was of a type that a library did not know, as text of EXIF 3.0 is (129).
func TestOrientationBehindUnknownTypes(t *testing.T) {
	t.Parallel()
	jpg, drawn := testdata(t, "orientation6.jpg"), testdata(t, "orientation6.png")
	at := bytes.Index(jpg, []byte("Exif\x00\x00"))
	length := int(binary.BigEndian.Uint16(jpg[at-2:]))
	png := bytes.Index(drawn, []byte("eXIf"))
	end := png + 8 + int(binary.BigEndian.Uint32(drawn[png-4:]))
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, kind := range []uint16{129, 0, 13, 77} {
			exif := tiffOf(order, kind)
			segment := binary.BigEndian.AppendUint16(nil, uint16(8+len(exif)))
			for format, data := range map[preprocess.Format][]byte{
				preprocess.JPEG: slices.Concat(jpg[:at-2], segment, []byte("Exif\x00\x00"), exif, jpg[at-2+length:]),
				preprocess.PNG:  slices.Concat(drawn[:png-4], chunk("eXIf", exif), drawn[end:]),
			} {
				found, frames, err := decodeTest(t, data, format, preprocess.DefaultLimits())
				if err != nil || found.Width != 96 {
					t.Fatalf("%s, type %d in %v: found %+v, %v", format, kind, order, found, err)
				}
				frames[0].expect(t, drawnColors(), 12)
			}
		}
	}
}

// TestFramesBeginBlack: what a decoder leaves out of a frame must not show what an
// earlier file left in the same memory.
func TestFramesBeginBlack(t *testing.T) {
	t.Parallel()
	arena := newTestArena(t, 1<<22)
	for range 20 {
		err := writeFrame(320, 200, 0, arena, func(pix []byte) error {
			for i, x := range pix {
				if x != 0 {
					t.Fatalf("byte %d of %d is %d", i, len(pix), x)
				}
				pix[i] = 255
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Of an AVIF with several pictures, which browsers show as a film, and of TIFF files with several pages the first
// was judged, and nothing told that there were others: a genuine one before generated ones was
// enough to have all called real.
func TestOtherPicturesAreNoted(t *testing.T) {
	t.Parallel()
	film := filepath.Join(t.TempDir(), "film.avif")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc=s=160x128:r=5:d=1", "-pix_fmt", "yuv420p", "-c:v", "libsvtav1", "-preset", "12", film)
	animated, err := os.ReadFile(film)
	if err != nil {
		t.Fatal(err)
	}
	pages, copied := testdata(t, "pages.tiff"), testdata(t, "pages.tiff")
	second := firstPage(copied).at(firstPage(copied).next)
	second.order.PutUint16(second.entries[0], 254) // in the place of a tag that is not looked at
	second.order.PutUint16(second.entries[0][2:], 4)
	second.order.PutUint32(second.entries[0][8:], 1)
	for name, c := range map[string]struct {
		format preprocess.Format
		data   []byte
		want   []preprocess.Note
	}{
		"AVIF":                      {preprocess.AVIF, testdata(t, "orientation1.avif"), nil},
		"AVIF of several pictures":  {preprocess.AVIF, animated, []preprocess.Note{preprocess.OtherPictures}},
		"HEIC":                      {preprocess.HEIC, testdata(t, "orientation1.heic"), nil},
		"TIFF":                      {preprocess.TIFF, testdata(t, "orientation1.tiff"), nil},
		"TIFF of pages":             {preprocess.TIFF, pages, []preprocess.Note{preprocess.OtherPictures}},
		"TIFF with a smaller copy":  {preprocess.TIFF, copied, nil},
		"TIFF that is its own page": {preprocess.TIFF, loop(pages), []preprocess.Note{preprocess.OtherPictures}},
	} {
		found, _, err := decodeTest(t, c.data, c.format, preprocess.DefaultLimits())
		if err != nil || !slices.Equal(found.Notes, c.want) {
			t.Errorf("%s: notes %q, %v; want %q", name, found.Notes, err, c.want)
		}
	}
}

// loop has the first page of a TIFF file be the next one, too.
func loop(data []byte) []byte {
	data = bytes.Clone(data)
	page := firstPage(data)
	at := page.order.Uint32(data[4:])
	page.order.PutUint32(data[int(at)+2+12*len(page.entries):], at)
	return data
}

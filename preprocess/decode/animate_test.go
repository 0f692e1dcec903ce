//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/animation"
)

// disc is a GIF frame of one colour: 0 is transparent, then red, green, blue.
func disc(r image.Rectangle, index uint8) *image.Paletted {
	img := image.NewPaletted(r, color.Palette{
		color.NRGBA{}, color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255},
	})
	for i := range img.Pix {
		img.Pix[i] = index
	}
	return img
}

// animatedGIF has four frames: all red, the right half green, the lower half
// blue, and nothing new; the last two disposals are the arguments.
func animatedGIF(t testing.TB, second, third byte) []byte {
	t.Helper()
	whole := image.Rect(0, 0, 96, 64)
	return byGo(t, func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{
			Image: []*image.Paletted{
				disc(whole, 1), disc(image.Rect(48, 0, 96, 64), 2), disc(image.Rect(0, 32, 96, 64), 3), disc(whole, 0),
			},
			Delay:    []int{10, 20, 30, 40},
			Disposal: []byte{gif.DisposalNone, second, third, gif.DisposalNone},
			Config:   image.Config{Width: 96, Height: 64},
		})
	})
}

// cutGIF is all red, then a frame whose left half is green and whose right half, which
// is blue, lies beyond the screen.
func cutGIF(t testing.TB) []byte {
	t.Helper()
	second := disc(image.Rect(48, 0, 144, 64), 2)
	for y := range 64 {
		for x := 96; x < 144; x++ {
			second.SetColorIndex(x, y, 3)
		}
	}
	data := byGo(t, func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{
			Image: []*image.Paletted{disc(image.Rect(0, 0, 96, 64), 1), second}, Delay: []int{10, 20},
			Config: image.Config{Width: 144, Height: 64},
		})
	})
	data[6] = 96
	return data
}

// shortPaletteGIF has two frames whose lower halves are of a colour that neither palette, of
// all frames or of their own, has.
func shortPaletteGIF(t testing.TB) []byte {
	t.Helper()
	frame := disc(image.Rect(0, 0, 96, 64), 1)
	for i := range frame.Pix[:len(frame.Pix)/2] {
		frame.Pix[len(frame.Pix)/2+i] = 3
	}
	own := disc(frame.Rect, 1)
	own.Pix, own.Palette = frame.Pix, color.Palette{color.Black, color.NRGBA{0, 255, 0, 255}, color.Black, color.White}
	data := byGo(t, func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{
			Image: []*image.Paletted{frame, own}, Delay: []int{10, 20},
			Config: image.Config{Width: 96, Height: 64, ColorModel: frame.Palette},
		})
	})
	second := bytes.LastIndex(data, []byte{0x2c, 0, 0, 0, 0, 96, 0, 64, 0}) + 10
	data = slices.Concat(data[:second-1], []byte{0x80}, data[second:second+6], data[second+12:])
	data[10] &^= 7
	return slices.Concat(data[:19], data[25:])
}

// surplusGIF has two frames, the second of which is told to be half as high as what is coded
// for it. The first has bytes behind its pixels.
func surplusGIF(t testing.TB) []byte {
	t.Helper()
	whole := image.Rect(0, 0, 96, 64)
	data := byGo(t, func(b *bytes.Buffer) error {
		return gif.EncodeAll(b, &gif.GIF{
			Image: []*image.Paletted{disc(whole, 1), disc(whole, 2)}, Delay: []int{10, 20},
			Config: image.Config{Width: 96, Height: 64, ColorModel: disc(whole, 1).Palette},
		})
	})
	data[bytes.LastIndex(data, []byte{0x2c, 0, 0, 0, 0, 96, 0, 64, 0})+7] = 32
	second := bytes.LastIndex(data, []byte{0, 0x21, 0xf9})
	return slices.Concat(data[:second], []byte("\x07surplus"), data[second:])
}

// packedTwo codes pixels of two colours in LZW whose first codes have two bits, and begins anew where the table is full.
func packedTwo(pixels []byte) (coded []byte) {
	const restart, end, first = 2, 3, 4
	at, size := 0, 2
	put := func(code int) {
		for i := range size {
			if at%8 == 0 {
				coded = append(coded, 0)
			}
			coded[at/8] |= byte(code>>i&1) << (at % 8)
			at++
		}
	}
	put(restart)
	table, run, code := map[string]int{}, "", 0
	for n := 0; n < len(pixels); n++ {
		longer := run + string('0'+rune(pixels[n]))
		known, ok := table[longer]
		if len(longer) == 1 {
			known, ok = int(pixels[n]), true
		}
		if ok {
			run, code = longer, known
			continue
		}
		put(code)
		if n--; first+len(table) == 1<<size {
			size++
		}
		if table[longer] = first + len(table); first+len(table) == 1<<12 {
			run = ""
			put(restart)
			table, size = map[string]int{}, 2
			continue
		}
		run = ""
	}
	put(code)
	if first+len(table) == 1<<size && size < 12 {
		size++
	}
	put(end)
	return coded
}

// TestGIFOfTwoColours: where an encoder had said that the first codes of two colours have two bits, as most programs
// read them, and not three, the picture was refused as damaged.
func TestGIFOfTwoColours(t *testing.T) {
	t.Parallel()
	const width, height = 960, 640
	pixels, seed := make([]byte, width*height), uint32(1)
	for i := range pixels {
		seed = seed*1664525 + 1013904223
		left, noisy := i%width < width/2, i/width%40/8 == 3 // beside what is looked at below
		if pixels[i] = byte(i / width / (height / 2)); !left {
			pixels[i] ^= 1
		}
		if noisy {
			pixels[i] ^= byte(seed >> 31)
		}
	}
	data := []byte("GIF89a\xc0\x03\x80\x02\x80\x00\x00\xdc\x28\x1e\x1e\xb4\x3c\x2c\x00\x00\x00\x00\xc0\x03\x80\x02\x00\x01")
	for block := range slices.Chunk(packedTwo(pixels), 255) {
		data = append(append(data, byte(len(block))), block...)
	}
	data = append(data, 0, 0x3b)
	path := filepath.Join(t.TempDir(), "x.gif")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	c := drawnColors()
	for i, grey := range ffmpeg(t, "-i", path, "-vf", "format=rgb24", "-frames:v", "1", "-f", "rawvideo", "-") { // another reader agrees
		if want := c[pixels[i/3]]; grey != []byte{want.R, want.G, want.B}[i%3] {
			t.Fatalf("pixel %d of what was drawn is %d", i/3, grey)
		}
	}
	_, frames, err := decodeTest(t, data, preprocess.GIF, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	frames[0].expect(t, quadrants{c[0], c[1], c[1], c[0]}, 8)
	got := make([]byte, len(pixels))
	coded := packedTwo(pixels)
	if err := unpackTwo(coded, got); err != nil || !bytes.Equal(got, pixels) {
		t.Errorf("unpacked otherwise than packed: %v", err)
	}
	for n := range 100 {
		if unpackTwo(coded[:n], got) == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	if err := unpackTwo([]byte{0b111_00_10, 1}, got); !errors.Is(err, errCode) {
		t.Errorf("a code that stands for nothing: %v", err)
	}
}

// apngFrame is one frame of an APNG of one colour.
type apngFrame struct {
	rect          image.Rectangle
	color         [4]byte
	dispose, over byte
}

// animatedPNG makes a file; every frame is shown for 100 ms.
func animatedPNG(t testing.TB, frames []apngFrame) []byte {
	t.Helper()
	base := rawPNG{width: 96, height: 64, depth: 8, color: 6}
	out := append([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", base.header())...)
	out = append(out, chunk("acTL", binary.BigEndian.AppendUint64(nil, uint64(len(frames))<<32))...)
	number := uint32(0)
	for i, f := range frames {
		control := binary.BigEndian.AppendUint32(nil, number)
		number++
		for _, v := range []int{f.rect.Dx(), f.rect.Dy(), f.rect.Min.X, f.rect.Min.Y} {
			control = binary.BigEndian.AppendUint32(control, uint32(v))
		}
		out = append(out, chunk("fcTL", append(control, 0, 1, 0, 10, f.dispose, f.over))...)
		pixels := compressed(t, rawPNG{
			width: f.rect.Dx(), height: f.rect.Dy(), pixel: func(_, _ int) []byte { return f.color[:] },
		}.rows())
		if i == 0 {
			out = append(out, chunk("IDAT", pixels)...)
			continue
		}
		out = append(out, chunk("fdAT", append(binary.BigEndian.AppendUint32(nil, number), pixels...))...)
		number++
	}
	return append(out, chunk("IEND", nil)...)
}

func TestAnimations(t *testing.T) {
	t.Parallel()
	red, green, blue := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}, color.NRGBA{0, 0, 255, 255}
	white, black := color.NRGBA{255, 255, 255, 255}, color.NRGBA{0, 0, 0, 255}
	whole, right := image.Rect(0, 0, 96, 64), image.Rect(48, 0, 96, 64)
	first, second := quadrants{red, red, red, red}, quadrants{red, green, red, green}
	ms := time.Millisecond
	gifTimes := []time.Duration{0, 100 * ms, 300 * ms, 600 * ms}
	for _, test := range []struct {
		name   string
		format preprocess.Format
		data   []byte
		want   []quadrants
		times  []time.Duration
		length time.Duration
	}{
		{
			"GIF keeping", preprocess.GIF, animatedGIF(t, gif.DisposalNone, gif.DisposalNone),
			[]quadrants{first, second, {red, green, blue, blue}, {red, green, blue, blue}}, gifTimes, time.Second,
		},
		{
			"GIF clearing", preprocess.GIF, animatedGIF(t, gif.DisposalBackground, gif.DisposalBackground),
			[]quadrants{first, second, {red, white, blue, blue}, {red, white, white, white}}, gifTimes, time.Second,
		},
		{
			"GIF restoring", preprocess.GIF, animatedGIF(t, gif.DisposalPrevious, gif.DisposalPrevious),
			[]quadrants{first, second, {red, red, blue, blue}, first}, gifTimes, time.Second,
		},
		{
			"GIF beyond its screen", preprocess.GIF, cutGIF(t), []quadrants{first, second},
			[]time.Duration{0, 100 * ms}, 300 * ms,
		},
		{ // was refused
			"GIF of short palettes", preprocess.GIF, shortPaletteGIF(t),
			[]quadrants{{red, red, black, black}, {green, green, black, black}},
			[]time.Duration{0, 100 * ms}, 300 * ms,
		},
		{ // was refused
			"GIF of more pixels than it has room for", preprocess.GIF, surplusGIF(t),
			[]quadrants{{red, red, red, red}, {green, green, red, red}},
			[]time.Duration{0, 100 * ms}, 300 * ms,
		},
		{
			"APNG", preprocess.PNG, animatedPNG(t, []apngFrame{
				{whole, [4]byte{255, 0, 0, 255}, 0, 0},
				{right, [4]byte{0, 255, 0, 255}, 2, 0},            // restored
				{right, [4]byte{0, 0, 255, 128}, 0, 1},            // over red
				{right, [4]byte{0, 0, 255, 128}, 1, 0},            // instead, then cleared
				{image.Rect(0, 32, 96, 64), [4]byte{}, 0, 1},      // invisible
				{image.Rect(0, 0, 96, 64), [4]byte{0, 255}, 0, 0}, // wholly transparent
			}),
			[]quadrants{
				first, second, {red, {127, 0, 128, 255}, red, {127, 0, 128, 255}},
				{red, {127, 127, 255, 255}, red, {127, 127, 255, 255}},
				{red, white, red, white}, {white, white, white, white},
			},
			[]time.Duration{0, 100 * ms, 200 * ms, 300 * ms, 400 * ms, 500 * ms}, 600 * ms,
		},
		{
			"WebP lossless", preprocess.WebP, testdata(t, "animated-lossless.webp"),
			[]quadrants{all(220, 40, 30), all(30, 180, 60), all(40, 60, 210)},
			[]time.Duration{0, 100 * ms, 300 * ms}, 600 * ms,
		},
		{
			"WebP lossy", preprocess.WebP, testdata(t, "animated-lossy.webp"),
			[]quadrants{all(220, 40, 30), all(30, 180, 60), all(40, 60, 210)},
			[]time.Duration{0, 100 * ms, 300 * ms}, 600 * ms,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found, frames, err := decodeTest(t, test.data, test.format, preprocess.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if found.Kind != preprocess.Image || found.Width != 96 || found.Height != 64 || found.Duration != test.length {
				t.Fatalf("found %+v", found)
			}
			var times []time.Duration
			for _, f := range frames {
				times = append(times, f.At)
			}
			if !slices.Equal(times, test.times) {
				t.Fatalf("frames at %v, want %v", times, test.times)
			}
			for i, f := range frames {
				f.expect(t, test.want[i], 8)
			}
		})
	}
}

// manyFrames is a GIF of n frames, each of a shade of its own.
func manyFrames(t testing.TB, n int) []byte {
	t.Helper()
	g := &gif.GIF{Config: image.Config{Width: 16, Height: 16}}
	for i := range n {
		shade := color.Gray{Y: uint8(i * 255 / n)}
		g.Image = append(g.Image, image.NewPaletted(image.Rect(0, 0, 16, 16), color.Palette{shade, color.Gray{}}))
		g.Delay = append(g.Delay, 10)
	}
	return byGo(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
}

func TestAnimationIsSpreadOverItsLength(t *testing.T) {
	t.Parallel()
	limits := preprocess.DefaultLimits()
	limits.Frames = 4
	_, frames, err := decodeTest(t, manyFrames(t, 100), preprocess.GIF, limits)
	if err != nil {
		t.Fatal(err)
	}
	if len(frames) != 4 {
		t.Fatalf("%d frames", len(frames))
	}
	for i, f := range frames {
		shown := 12 + 25*i // the middle of each quarter
		shade := byte(shown * 255 / 100)
		f.expect(t, all(shade, shade, shade), 4)
		if f.At != time.Duration(shown)*100*time.Millisecond {
			t.Errorf("frame %d is at %v", i, f.At)
		}
	}
}

// Where a frame that was shown had covered everything and then gave way to what was
// there before it, that was not known, since it had not been decoded: white showed.
func TestFramesBeneathOnesThatAreRestored(t *testing.T) {
	t.Parallel()
	frames := []apngFrame{{image.Rect(0, 0, 96, 64), [4]byte{255, 0, 0, 255}, 0, 0}}
	for range 20 {
		frames = append(frames,
			apngFrame{image.Rect(0, 0, 96, 64), [4]byte{0, 0, 255, 255}, 2, 0},
			apngFrame{image.Rect(0, 0, 48, 32), [4]byte{0, 255, 0, 255}, 2, 0})
	}
	_, shown, err := decodeTest(t, animatedPNG(t, frames), preprocess.PNG, preprocess.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	red, green := color.NRGBA{255, 0, 0, 255}, color.NRGBA{0, 255, 0, 255}
	for _, f := range shown {
		want := all(0, 0, 255)
		if i := f.At / (100 * time.Millisecond); i%2 == 0 {
			want = quadrants{green, red, red, red}
		}
		f.expect(t, want, 8)
	}
}

// TestAnimationCutOff: an animation that was cut off between two frames, or had something
// else there, had a verdict on the frames before, and nothing told that there were others. One
// that was cut off within what stands behind its frames was refused.
func TestAnimationCutOff(t *testing.T) {
	t.Parallel()
	drawn := animatedGIF(t, 0, 0)
	ended := bytes.TrimSuffix(drawn, []byte{0x3b})
	last := bytes.LastIndex(drawn, []byte{0x21, 0xf9})
	whole := image.Rect(0, 0, 96, 64)
	apng := animatedPNG(t, []apngFrame{{whole, [4]byte{255, 0, 0, 255}, 0, 0}, {whole, [4]byte{0, 255, 0, 255}, 0, 0}})
	control, end := bytes.LastIndex(apng, []byte("fcTL"))-4, len(apng)-12
	webp := testdata(t, "animated-lossy.webp")
	longer := slices.Concat(webp, []byte("ANMF\x01"))
	binary.LittleEndian.PutUint32(longer[4:], uint32(len(longer)-8))
	for name, c := range map[string]struct {
		format preprocess.Format
		data   []byte
		noted  bool
	}{
		"GIF":                          {preprocess.GIF, drawn, false},
		"GIF without a trailer":        {preprocess.GIF, ended, false},
		"GIF with zeros":               {preprocess.GIF, slices.Concat(ended, make([]byte, 9), []byte{0x3b}), false},
		"GIF with something else":      {preprocess.GIF, slices.Concat(drawn[:last], []byte("rubbish"), drawn[last:]), true},
		"GIF with a zero between":      {preprocess.GIF, slices.Concat(drawn[:last], []byte{0}, drawn[last:]), true},
		"GIF cut off before a frame":   {preprocess.GIF, drawn[:last+3], true},
		"GIF cut off within a comment": {preprocess.GIF, slices.Concat(ended, []byte("\x21\xfe\x07com")), true},
		"APNG":                         {preprocess.PNG, apng, false},
		"APNG without an end":          {preprocess.PNG, apng[:end], true},
		"APNG of fewer frames":         {preprocess.PNG, slices.Concat(apng[:control], apng[end:]), true},
		"WebP":                         {preprocess.WebP, webp, false},
		"WebP cut off within a header": {preprocess.WebP, longer, true},
	} {
		found, frames, err := decodeTest(t, c.data, c.format, preprocess.DefaultLimits())
		if noted := slices.Equal(found.Notes, []preprocess.Note{preprocess.Incomplete}); err != nil || noted != c.noted {
			t.Errorf("%s: %d frames, notes %q, %v", name, len(frames), found.Notes, err)
		}
	}
}

func TestAnimationThatIsTooLong(t *testing.T) {
	t.Parallel()
	limits := preprocess.DefaultLimits()
	limits.Duration = 5 * time.Second
	_, _, err := decodeTest(t, manyFrames(t, 100), preprocess.GIF, limits)
	wantFault(t, err, preprocess.PayloadTooLarge, "10s long; at most 5s")
}

// A later frame is decoded whole, though only what is on the screen shows: one of
// 65,535 by 65,535 pixels behind a screen of 96 by 64 must not be.
func TestFrameBeyondTheLimit(t *testing.T) {
	t.Parallel()
	data := cutGIF(t)
	at := bytes.Index(data, []byte{0x2c, 48, 0, 0, 0, 96, 0, 64, 0})
	binary.LittleEndian.PutUint16(data[at+5:], 1000)
	limits := preprocess.DefaultLimits()
	limits.Pixels = 63_999
	_, _, err := decodeTest(t, data, preprocess.GIF, limits)
	wantFault(t, err, preprocess.PayloadTooLarge, "1000")
}

// FuzzGIFFrames decodes what frames are made of: a picture of their size, or an error.
func FuzzGIFFrames(f *testing.F) {
	f.Add(surplusGIF(f))
	f.Add(shortPaletteGIF(f))
	f.Add(animatedGIF(f, gif.DisposalPrevious, gif.DisposalBackground))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := animation.GIF(data)
		if err != nil {
			return
		}
		for _, frame := range a.Frames[:min(len(a.Frames), 5)] {
			if frame.Extent.Dx()*frame.Extent.Dy() > 1<<20 {
				continue
			}
			if img, err := decodeGIF(frame.Still()); err == nil && img.Bounds().Size() != frame.Extent.Size() {
				t.Fatalf("%v in %v", img.Bounds(), frame.Extent)
			}
		}
	})
}

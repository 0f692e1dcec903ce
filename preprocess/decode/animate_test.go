//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

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

package animation

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"os"
	"slices"
	"testing"
	"time"
)

// threeFrames is a GIF of 8 by 6 pixels with frames of 8x6, 4x2 and 8x6.
func threeFrames(t testing.TB) []byte {
	t.Helper()
	frame := func(r image.Rectangle, c color.Color) *image.Paletted {
		img := image.NewPaletted(r, color.Palette{c, color.Transparent})
		return img
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &gif.GIF{
		Image: []*image.Paletted{
			frame(image.Rect(0, 0, 8, 6), color.White), frame(image.Rect(2, 1, 6, 3), color.Black),
			frame(image.Rect(0, 0, 8, 6), color.White),
		},
		Delay: []int{5, 0, 20}, Disposal: []byte{gif.DisposalNone, gif.DisposalBackground, gif.DisposalPrevious},
		Config: image.Config{Width: 8, Height: 6},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGIF(t *testing.T) {
	t.Parallel()
	a, err := GIF(threeFrames(t))
	if err != nil {
		t.Fatal(err)
	}
	if a.Width != 8 || a.Height != 6 || len(a.Frames) != 3 {
		t.Fatalf("%d by %d, %d frames", a.Width, a.Height, len(a.Frames))
	}
	var disposals []Disposal
	for _, f := range a.Frames {
		disposals = append(disposals, f.Disposal)
		img, err := gif.Decode(bytes.NewReader(f.Still()))
		if err != nil {
			t.Fatal(err)
		}
		if img.Bounds().Size() != f.Rect.Size() {
			t.Errorf("the picture of %v is %v", f.Rect, img.Bounds())
		}
	}
	if want := []Disposal{Keep, Clear, Restore}; !slices.Equal(disposals, want) {
		t.Errorf("disposals %v, want %v", disposals, want)
	}
	if a.Frames[1].Rect != image.Rect(2, 1, 6, 3) || a.Duration() != 350*time.Millisecond {
		t.Errorf("the second frame is at %v, all take %v", a.Frames[1].Rect, a.Duration())
	}
}

// TestGIFOfBrowsers: files without a trailer, and with a logical screen of no
// size, are shown by every browser and were refused as damaged.
func TestGIFOfBrowsers(t *testing.T) {
	t.Parallel()
	whole := threeFrames(t)
	if a, err := GIF(whole[:len(whole)-1]); err != nil || len(a.Frames) != 3 {
		t.Errorf("without a trailer: %v, %v", a, err)
	}
	if _, err := GIF(whole[:len(whole)-3]); !errors.Is(err, ErrDamaged) {
		t.Errorf("cut off within the last frame: %v", err)
	}
	for _, size := range [][2]uint16{{0, 0}, {0, 6}, {8, 0}} {
		none := bytes.Clone(whole)
		binary.LittleEndian.PutUint16(none[6:], size[0])
		binary.LittleEndian.PutUint16(none[8:], size[1])
		if a, err := GIF(none); err != nil || a.Width != 8 || a.Height != 6 {
			t.Errorf("a screen of %v: %v, %v", size, a, err)
		}
	}
}

// TestGIFBeyondItsScreen: browsers enlarge the screen for the first frame and cut later
// ones, and such files were refused as damaged.
func TestGIFBeyondItsScreen(t *testing.T) {
	t.Parallel()
	whole := threeFrames(t)
	small := bytes.Clone(whole)
	binary.LittleEndian.PutUint16(small[6:], 4)
	if a, err := GIF(small); err != nil || a.Width != 8 || a.Height != 6 {
		t.Errorf("a first frame larger than the screen: %v, %v", a, err)
	}
	moved := bytes.Clone(whole)
	moved[bytes.Index(moved, []byte{0x2c, 2, 0, 1, 0, 4, 0, 2, 0})+1] = 6
	a, err := GIF(moved)
	if err != nil {
		t.Fatal(err)
	}
	if f := a.Frames[1]; a.Width != 8 || f.Rect != image.Rect(6, 1, 8, 3) || f.Extent != image.Rect(6, 1, 10, 3) {
		t.Errorf("a later frame beyond the screen of %d: %v of %v", a.Width, f.Rect, f.Extent)
	}
}

// TestGIFOfUnseenFrames: a file with a later frame outside of its screen, or of no size, was
// refused as a whole, though all others show the rest of it.
func TestGIFOfUnseenFrames(t *testing.T) {
	t.Parallel()
	whole := threeFrames(t)
	second := bytes.Index(whole, []byte{0x2c, 2, 0, 1, 0, 4, 0, 2, 0})
	for name, patch := range map[string]struct{ at, value byte }{"outside": {1, 8}, "of no size": {5, 0}} {
		data := bytes.Clone(whole)
		data[second+int(patch.at)] = patch.value
		a, err := GIF(data)
		if err != nil || len(a.Frames) != 2 || a.Frames[0].Delay != 150*time.Millisecond || a.Duration() != 350*time.Millisecond {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	first := bytes.Clone(whole)
	first[bytes.Index(first, []byte{0x2c, 0, 0, 0, 0, 8, 0, 6, 0})+5] = 0
	if _, err := GIF(first); !errors.Is(err, ErrDamaged) {
		t.Errorf("the first: %v", err)
	}
}

// even is an animation of n frames of a second each.
func even(n int) *Animation {
	a := &Animation{Width: 2, Height: 2}
	for range n {
		a.Frames = append(a.Frames, Frame{Rect: image.Rect(0, 0, 2, 2), Delay: time.Second, Over: true, Alpha: true})
	}
	return a
}

// TestSpread: of an animation of few frames all were judged, however long they show, so that
// one nearly black frame of 10 ms beside a generated picture of 10 s turned it from fake to real.
func TestSpread(t *testing.T) {
	t.Parallel()
	uneven := even(20)
	uneven.Frames[0].Delay = 81 * time.Second // 81 of 100 seconds
	flash := even(2)
	flash.Frames[0].Delay, flash.Frames[1].Delay = 10*time.Second, 10*time.Millisecond
	for name, test := range map[string]struct {
		animation *Animation
		n         int
		want      []int
	}{
		"all":        {even(3), 4, []int{0, 1, 2}},
		"as many":    {even(4), 4, []int{0, 1, 2, 3}},
		"fewer":      {even(15), 16, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}},
		"spread":     {even(12), 4, []int{1, 4, 7, 10}},
		"one":        {even(9), 1, []int{4}},
		"long first": {uneven, 10, []int{0, 5, 15}},
		"a flash":    {flash, 16, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for _, m := range test.animation.Spread(test.n) {
				got = append(got, m.Frame)
			}
			if !slices.Equal(got, test.want) {
				t.Fatalf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestKeyFrame(t *testing.T) {
	t.Parallel()
	a := even(6)
	if got := a.KeyFrame(5); got != 0 {
		t.Errorf("with blending: %d", got)
	}
	a.Frames[2].Over = false
	if got := a.KeyFrame(5); got != 2 {
		t.Errorf("with a frame that replaces: %d", got)
	}
	a.Frames[3].Disposal = Clear
	if got := a.KeyFrame(5); got != 4 {
		t.Errorf("with a frame that is cleared: %d", got)
	}
	a.Frames[5].Alpha = false
	if got := a.KeyFrame(5); got != 5 {
		t.Errorf("with an opaque frame: %d", got)
	}
}

// A frame that covered everything for a while and then gave way to what was there
// before it was taken for the beginning of what follows, which then showed on nothing.
func TestKeyFrameThatIsRestored(t *testing.T) {
	t.Parallel()
	a := even(6)
	a.Frames[1].Over = false
	a.Frames[3].Over, a.Frames[3].Disposal = false, Restore
	if got := a.KeyFrame(5); got != 1 {
		t.Errorf("after it: %d", got)
	}
	if got := a.KeyFrame(3); got != 1 {
		t.Errorf("itself: %d", got)
	}
}

func TestStillsAreNotAnimated(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	if a, err := PNG(b.Bytes()); a != nil || err != nil {
		t.Errorf("PNG: %v, %v", a, err)
	}
	// These were refused as damaged, or animated, and are shown as still pictures by browsers.
	for name, data := range map[string][]byte{"none said": smallPNG(0, 0), "none there": smallPNG(2, 0), "none said, some there": smallPNG(0, 2)} {
		if a, err := PNG(data); a != nil || err != nil {
			t.Errorf("PNG of no frames, %s: %v, %v", name, a, err)
		}
	}
	still := []byte("RIFF\x0c\x00\x00\x00WEBPVP8L\x00\x00\x00\x00")
	if a, err := WebP(still); a != nil || err != nil {
		t.Errorf("WebP: %v, %v", a, err)
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	whole := threeFrames(t)
	one := bytes.Index(whole[20:], []byte{0, 0x21, 0xf9}) // the end of the first frame, past its own extension
	for n := range 20 + one {
		if _, err := GIF(whole[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes of a GIF: %v", n, err)
		}
	}
	webp, err := os.ReadFile("../../decode/testdata/animated-lossy.webp")
	if err != nil {
		t.Fatal(err)
	}
	for n := range webp {
		if _, err := WebP(webp[:n]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes of a WebP: %v", n, err)
		}
	}
	// A RIFF size that ends before its own header does was a slice from 12 to 9.
	if _, err := WebP([]byte("RIFF\x01\x00\x00\x00WEBP00000000")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a WebP of 9 bytes by its own account: %v", err)
	}
}

// TestAreaIsBounded: a GIF of 4000 by 4000 pixels and 249 frames kept the limit, and had a decoder for a minute, after
// which its client was told that the service had failed, and of no limit.
func TestAreaIsBounded(t *testing.T) {
	t.Parallel()
	frame := Frame{Extent: image.Rect(0, 0, 4000, 4000)}
	for n, want := range map[int]error{125: nil, 126: ErrTooLarge, 249: ErrTooLarge} {
		a := Animation{Width: 4000, Height: 4000, Frames: slices.Repeat([]Frame{frame}, n)}
		if err := a.check(); !errors.Is(err, want) {
			t.Errorf("%d frames: %v", n, err)
		}
	}
}

// TestWebPOfTwoSizes: a frame whose coded picture is larger than the frame was decoded as a whole before it was
// refused, up to four times the limit of pixels.
func TestWebPOfTwoSizes(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]struct {
		chunk string
		at    int
	}{"animated-lossy.webp": {"VP8 ", 14}, "animated-lossless.webp": {"VP8L", 9}} {
		data, err := os.ReadFile("../../decode/testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := WebP(data); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		data[bytes.Index(data, []byte(patch.chunk))+patch.at]++
		if _, err := WebP(data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, with a width that is one more: %v", name, err)
		}
		copy(data[bytes.Index(data, []byte(patch.chunk)):], "/\xff\xff\xff") // a picture of VP8L without a chunk
		if _, err := WebP(data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s, with a picture that stands in no chunk: %v", name, err)
		}
	}
}

// TestSharedChunksAreShort: a palette of megabytes was copied for each of thousands of frames, with a
// checksum.
func TestSharedChunksAreShort(t *testing.T) {
	t.Parallel()
	longest := map[string]int{"PLTE": 768, "tRNS": 256, "gAMA": 4, "sBIT": 4}
	for kind, n := range longest {
		for length, kept := range map[int]bool{n: true, n + 1: false} {
			seed := smallPNG(1, 2)
			at := bytes.Index(seed, []byte("acTL")) - 4
			a, err := PNG(slices.Concat(seed[:at], appendChunk(nil, kind, make([]byte, length)), seed[at:]))
			if err != nil || bytes.Contains(a.Frames[1].Still(), []byte(kind)) != kept {
				t.Errorf("%s of %d bytes: %v", kind, length, err)
			}
		}
	}
}

// smallPNG is an animation of one pixel and so many frames, and says how many there are.
func smallPNG(said byte, frames int) []byte {
	control := make([]byte, 26)
	control[7], control[11], control[23] = 1, 1, 10
	data := appendChunk([]byte(pngMagic), "IHDR", []byte{0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0})
	data = appendChunk(data, "acTL", []byte{0, 0, 0, said, 0, 0, 0, 0})
	if frames > 0 {
		data = appendChunk(data, "fcTL", control)
	}
	data = appendChunk(data, "IDAT", []byte{1, 2, 3})
	for range frames - 1 {
		data = appendChunk(data, "fcTL", control)
		data = appendChunk(data, "fdAT", []byte{0, 0, 0, 0, 1, 2, 3})
	}
	return appendChunk(data, "IEND", nil)
}

// fuzzFrames holds what every file that is taken apart promises.
func fuzzFrames(t *testing.T, a *Animation, err error) {
	t.Helper()
	if err != nil || a == nil {
		return
	}
	if len(a.Frames) == 0 || len(a.Frames) > MaxFrames {
		t.Fatalf("%d frames", len(a.Frames))
	}
	for i, f := range a.Frames {
		if f.Rect.Empty() || !f.Rect.In(image.Rect(0, 0, a.Width, a.Height)) || f.Delay <= 0 ||
			f.Rect.Min != f.Extent.Min || !f.Rect.In(f.Extent) {
			t.Fatalf("frame %d: %v for %v", i, f.Rect, f.Delay)
		}
		if i < 50 && len(f.Still()) == 0 {
			t.Fatalf("frame %d is empty", i)
		}
		if k := a.KeyFrame(i); k > i {
			t.Fatalf("frame %d needs %d", i, k)
		}
	}
	if chosen := a.Spread(16); len(chosen) == 0 || len(chosen) > 16 {
		t.Fatalf("%d frames of %d", len(chosen), len(a.Frames))
	}
}

func FuzzGIF(f *testing.F) {
	f.Add(threeFrames(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := GIF(data)
		fuzzFrames(t, a, err)
	})
}

func FuzzPNG(f *testing.F) {
	seed := smallPNG(2, 2)
	if a, err := PNG(seed); err != nil || len(a.Frames) != 2 {
		f.Fatal("the seed is no animation", err)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := PNG(data)
		fuzzFrames(t, a, err)
	})
}

func FuzzWebP(f *testing.F) {
	for _, name := range []string{"animated-lossy.webp", "animated-alpha.webp", "animated-lossless.webp"} {
		data, err := os.ReadFile("../../decode/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := WebP(data)
		fuzzFrames(t, a, err)
		_ = LosslessWebP(data)
		_ = EXIF(data)
	})
}

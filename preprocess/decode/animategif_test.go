//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"os"
	"path/filepath"
	"slices"
	"testing"

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

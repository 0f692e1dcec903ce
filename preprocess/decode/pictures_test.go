//go:build gocv_specific_modules

package decode

import (
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// quadrants are the colours of the drawn picture: left and right above, left
// and right below. Its size is 96 by 64.
type quadrants [4]color.NRGBA

// drawnColors are those that testdata/make.py draws with.
func drawnColors() quadrants {
	return quadrants{{220, 40, 30, 255}, {30, 180, 60, 255}, {40, 60, 210, 255}, {230, 210, 40, 255}}
}

// all is one colour everywhere.
func all(r, g, b byte) quadrants {
	c := color.NRGBA{r, g, b, 255}
	return quadrants{c, c, c, c}
}

// drawQuadrants draws the picture; alpha is that of all colours.
func drawQuadrants(alpha byte) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, 96, 64))
	for y := range 64 {
		for x := range 96 {
			c := drawnColors()[x/48+y/32*2]
			c.A = alpha
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

// onWhiteAt is what the drawn picture looks like on white.
func onWhiteAt(alpha int) quadrants {
	q := drawnColors()
	for i := range q {
		over := func(c byte) byte { return byte((int(c)*alpha + 255*(255-alpha)) / 255) }
		q[i].R, q[i].G, q[i].B = over(q[i].R), over(q[i].G), over(q[i].B)
	}
	return q
}

// picture is one decoded frame.
type picture struct {
	preprocess.FrameRef
	pix []byte
}

// decodeTest decodes data as the child does and copies the frames out.
func decodeTest(t testing.TB, data []byte, format preprocess.Format, limits preprocess.Limits) (Found, []picture, error) {
	t.Helper()
	fd, err := unix.MemfdCreate("media", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	media := os.NewFile(uintptr(fd), "media")
	defer func() { _ = media.Close() }()
	if _, err := media.Write(data); err != nil {
		t.Fatal(err)
	}
	fd, err = unix.MemfdCreate("output", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	output := os.NewFile(uintptr(fd), "output")
	defer func() { _ = output.Close() }()
	arena := NewArena(output, 64<<20)
	defer func() { _ = arena.Close() }()
	found, err := decodeImage(Source{File: media, Size: int64(len(data)), Format: format, Limits: limits}, arena)
	var pictures []picture
	for _, ref := range arena.Frames() {
		pix := make([]byte, ref.Width*ref.Height*3)
		if _, err := output.ReadAt(pix, ref.Offset); err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, picture{ref, pix})
	}
	return found, pictures, err
}

// expect asserts that the middles of the quadrants have their colours.
func (p picture) expect(t testing.TB, want quadrants, tolerance int) {
	t.Helper()
	for i, c := range want {
		for _, d := range [][2]int{{0, 0}, {-1, 0}, {0, -1}} { // the middle, and near the middle's neighbours
			x := p.Width*(1+2*(i%2))/4 + d[0]*p.Width/16
			y := p.Height*(1+2*(i/2))/4 + d[1]*p.Height/16
			got := p.pix[3*(y*p.Width+x):][:3]
			for k, v := range []byte{c.R, c.G, c.B} {
				if max(int(got[k])-int(v), int(v)-int(got[k])) > tolerance {
					t.Fatalf("the pixel at %d, %d is %v, want %v", x, y, got, c)
				}
			}
		}
	}
}

// testdata reads a drawn file.
func testdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

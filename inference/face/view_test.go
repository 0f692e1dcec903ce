package face

import (
	"bytes"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

func TestLookTakesTheMeanOfBlocks(t *testing.T) {
	t.Parallel()
	// Two rows of two blocks of 2×2 pixels, and a column and a row left over.
	frame := preprocess.Frame{Width: 5, Height: 5, Pix: make([]byte, 5*5*3)}
	set := func(x, y int, r, g, b byte) { copy(frame.Pix[(y*5+x)*3:], []byte{r, g, b}) }
	for _, p := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
		set(p[0], p[1], 255, 255, 255)
	}
	set(2, 0, 200, 100, 50)
	set(3, 1, 1, 2, 5) // 6/4 goes up to 2, 5/4 down to 1
	set(0, 2, 0, 0, 6)
	set(4, 4, 255, 255, 255)
	v := Look(frame, 3)
	want := []byte{255, 255, 255, 50, 26, 14, 0, 0, 2, 0, 0, 0}
	if v.by != 2 || v.reduced.Width != 2 || v.reduced.Height != 2 || !bytes.Equal(v.reduced.Pix, want) {
		t.Errorf("got %+v, want %v", v, want)
	}
}

func TestLookFitsTheSide(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ width, height, by int }{
		"small is not enlarged": {3, 2, 1}, "just fits": {8, 8, 1}, "one too wide": {9, 2, 2}, "tall": {2, 17, 3},
		"narrower than a block": {17, 1, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Look(located(c.width, c.height), 8)
			if v.by != c.by || v.reduced.Width != c.width/c.by || v.reduced.Height != c.height/c.by {
				t.Errorf("got %d by %d, reduced by %d", v.reduced.Width, v.reduced.Height, v.by)
			}
			v.Fill(make([]byte, 8*8*3), 8)
		})
	}
}

func TestExtent(t *testing.T) {
	t.Parallel()
	alike := func(w, h, x, y int) bool {
		return Look(located(w, h), 640).Extent() == Look(located(x, y), 640).Extent()
	}
	if !alike(1280, 720, 640, 360) || !alike(200, 200, 129, 256) || alike(640, 360, 360, 640) || alike(640, 384, 640, 385) {
		t.Error("views of one extent have different names, or such of different extents the same")
	}
	if Look(located(1, 1), 640).Extent() == 0 {
		t.Error("an extent is 0, which stands for any")
	}
}

func TestFillLeavesNothingOfTheRowBefore(t *testing.T) {
	t.Parallel()
	dst := slices.Repeat([]byte{99}, 4*4*3)
	Look(located(3, 2), 4).Fill(dst, 4)
	grey := slices.Repeat([]byte{backdrop}, 3)
	want := slices.Concat(
		[]byte{0, 0, 7, 1, 0, 7, 2, 0, 7}, grey, []byte{0, 1, 7, 1, 1, 7, 2, 1, 7}, grey, slices.Repeat(grey, 8))
	if !bytes.Equal(dst, want) {
		t.Errorf("got %v", dst)
	}
}

// TestFillWhole: one number is marked, by one level, and only where nothing else is seen there.
// A picture that fills the input with plain grey is no exception.
func TestFillWhole(t *testing.T) {
	t.Parallel()
	plainGrey := preprocess.Frame{Width: 640, Height: 640, Pix: bytes.Repeat([]byte{backdrop}, 640*640*3)}
	for name, c := range map[string]struct {
		frame preprocess.Frame
		marks int
	}{
		"small": {located(100, 100), 1}, "flat": {located(640, 360), 1}, "tall": {located(360, 640), 1},
		"all of it": {located(640, 640), 0}, "nearly": {located(640, 600), 0}, "grey": {plainGrey, 1},
	} {
		v, plain, whole := Look(c.frame, 640), make([]byte, 640*640*3), make([]byte, 640*640*3)
		v.Fill(plain, 640)
		v.FillWhole(whole, 640)
		marks := 0
		for i := range plain {
			if plain[i] != whole[i] {
				marks++
			}
			if i%3 == 0 && plain[i] != whole[i] && (plain[i] != backdrop || whole[i] != backdrop+1) {
				t.Errorf("%s: %d became %d", name, plain[i], whole[i])
			}
		}
		if marks != c.marks {
			t.Errorf("%s: %d numbers marked, want %d", name, marks, c.marks)
		}
	}
}

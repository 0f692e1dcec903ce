package inference

import (
	"fmt"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// The origins were printed by tile_origins of scripts/train/vision/canonical.py:
// training and service must cut the same tiles.
func TestTileOriginsAreThoseOfTraining(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, height, tiles int
		want                 string
	}{
		{224, 224, 6, "[(0,0)]"},
		{1280, 720, 6, "[(0,0) (528,0) (1056,0) (0,496) (528,496) (1056,496)]"},
		{720, 1280, 9, "[(0,0) (496,0) (0,352) (496,352) (0,704) (496,704) (0,1056) (496,1056)]"},
		{500, 375, 6, "[(0,0) (138,0) (276,0) (0,151) (138,151) (276,151)]"},
		{640, 480, 1, "[(208,128)]"},
		{1280, 224, 6, "[(0,0) (211,0) (422,0) (633,0) (844,0) (1056,0)]"},
		{300, 1000, 4, "[(38,0) (38,258) (38,517) (38,776)]"},
		{1280, 1280, 9, "[(0,0) (528,0) (1056,0) (0,528) (528,528) (1056,528) (0,1056) (528,1056) (1056,1056)]"},
		{100, 50, 6, "[(0,0)]"},
	} {
		t.Run(fmt.Sprintf("%dx%d", c.width, c.height), func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(tileOrigins(c.width, c.height, 224, c.tiles)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestTileFill(t *testing.T) {
	t.Parallel()
	frame := numbered(3, 2)
	red := func(side int) []byte {
		dst := make([]byte, side*side*3)
		tile{frame: frame}.fill(dst, side)
		var out []byte
		for i := 0; i < len(dst); i += 3 {
			out = append(out, dst[i])
		}
		return out
	}
	// numpy.pad(mode="reflect") of [[0 1 2] [3 4 5]] to 5×5, its first rows.
	want := []byte{0, 1, 2, 1, 0, 3, 4, 5, 4, 3, 0, 1, 2, 1, 0, 3, 4, 5, 4, 3, 0, 1, 2, 1, 0}
	if got := red(5); !slices.Equal(got, want) {
		t.Errorf("beyond the edge: got %v, want %v", got, want)
	}
	if got := red(2); !slices.Equal(got, []byte{0, 1, 3, 4}) {
		t.Errorf("inside: got %v", got)
	}
}

// TestOverviewIsThatOfTraining: what vision.canonical.overview made of the same
// pixels, by every shape; where a reduced side is shorter than a tile it is reflected.
func TestOverviewIsThatOfTraining(t *testing.T) {
	t.Parallel()
	const side = 8
	for _, c := range []struct {
		width, height, by int
		sum               uint32 // of the bytes, each multiplied by its place from 1 on
	}{
		{8, 8, 1, 2275394},
		{12, 9, 1, 2423120},
		{12, 12, 2, 2586086},
		{13, 31, 2, 2258318},
		{40, 28, 4, 2330283},
		{41, 29, 4, 2307996},
		{64, 20, 3, 2308912},
		{11, 100, 1, 2027768},
	} {
		t.Run(fmt.Sprintf("%dx%d", c.width, c.height), func(t *testing.T) {
			t.Parallel()
			f := preprocess.Frame{Width: c.width, Height: c.height, Pix: make([]byte, c.width*c.height*3)}
			for i := range f.Pix {
				f.Pix[i] = byte(i * 7 % 251)
			}
			by := overviewFactor(f, side)
			dst, sum := make([]byte, side*side*3), uint32(0)
			overview(f, max(by, 1), side).fill(dst, side)
			for i, v := range dst {
				sum += uint32(v) * uint32(i+1)
			}
			if by != c.by || sum != c.sum {
				t.Errorf("by %d, sum %d; want %d, %d", by, sum, c.by, c.sum)
			}
		})
	}
}

// numbered is a frame whose red bytes count its pixels.
func numbered(width, height int) preprocess.Frame {
	f := preprocess.Frame{Width: width, Height: height, Pix: make([]byte, width*height*3)}
	for i := range width * height {
		f.Pix[3*i] = byte(i)
	}
	return f
}

package face

import (
	"encoding/hex"
	"image"
	"testing"

	"deepfaked/preprocess"
)

// located is a picture whose red is the column and whose green is the row.
func located(width, height int) preprocess.Frame {
	f := preprocess.Frame{Width: width, Height: height}
	for i := range width * height {
		f.Pix = append(f.Pix, byte(i%width), byte(i/width), 7)
	}
	return f
}

// The squares were computed by the rule of scripts/train/face/data.py,
// face_crop: training and service must cut the same ones. A crop of the square's
// own size is the square itself, so that its corners tell where it was cut.
func TestSquaresAreThoseOfTraining(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		face        image.Rectangle
		margin      float64
		side        int
		first, last image.Point // pixels of the frame
	}{
		"inside":               {image.Rect(40, 30, 60, 50), 1.3, 26, image.Pt(37, 27), image.Pt(62, 52)},
		"half goes down":       {image.Rect(10, 10, 21, 21), 1.3, 14, image.Pt(8, 8), image.Pt(21, 21)},
		"half goes up":         {image.Rect(11, 12, 22, 23), 1.3, 14, image.Pt(10, 10), image.Pt(23, 23)},
		"wide":                 {image.Rect(40, 30, 61, 39), 1.3, 27, image.Pt(37, 21), image.Pt(63, 47)},
		"tall":                 {image.Rect(50, 20, 59, 50), 1.5, 45, image.Pt(32, 12), image.Pt(76, 56)},
		"over the upper left":  {image.Rect(-10, -5, 20, 25), 1.3, 39, image.Pt(0, 0), image.Pt(24, 28)},
		"over the lower right": {image.Rect(80, 60, 110, 90), 1.3, 39, image.Pt(76, 56), image.Pt(99, 79)},
		"over everything":      {image.Rect(0, 0, 100, 80), 2, 200, image.Pt(0, 0), image.Pt(99, 79)},
		"one pixel":            {image.Rect(5, 5, 6, 6), 1, 2, image.Pt(4, 4), image.Pt(5, 5)},
		"side half to even":    {image.Rect(20, 20, 45, 45), 1.1, 28, image.Pt(18, 18), image.Pt(45, 45)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crop := Crop(located(100, 80), c.face, c.margin, c.side)
			end := len(crop) - 3
			first := image.Pt(int(crop[0]), int(crop[1]))
			last := image.Pt(int(crop[end]), int(crop[end+1]))
			if len(crop) != c.side*c.side*3 || first != c.first || last != c.last {
				t.Errorf("%d bytes from %v to %v, want %d from %v to %v", len(crop), first, last, c.side*c.side*3, c.first, c.last)
			}
		})
	}
}

// The bytes are those of scripts/train/face/data.py, face_crop, with OpenCV 5.0.
// OpenCV rounds the weights of bilinear scaling, hence the tolerance.
func TestPixelsAreThoseOfTraining(t *testing.T) {
	t.Parallel()
	frame := preprocess.Frame{Width: 60, Height: 40}
	for i := range frame.Width * frame.Height {
		x, y := i%frame.Width, i/frame.Width
		frame.Pix = append(frame.Pix, byte(4*x+y), byte(x*y/8), byte(37*x+91*y))
	}
	for name, c := range map[string]struct {
		face image.Rectangle
		want string
	}{
		"fraction":      {image.Rect(20, 10, 37, 27), "5b1a7e71218187287a9d2f816127767732798d3d80a3487e6636787c447b92537da8617b6c438682567898687aae7a81"},
		"whole":         {image.Rect(20, 5, 45, 30), "540d7a741382941882b41e8a5c217a7c2e7a9c3c82bc498264347a844a7aa45f7ac475826c48868c657aac837acca07a"},
		"enlarged":      {image.Rect(20, 10, 22, 12), "5a19725c19895f1aa5621bbc5b1aab5d1bc2601ca2631d555b1c8f5e1da6611e86631f395c1e285e1f3f61205b642172"},
		"same size":     {image.Rect(20, 10, 23, 13), "5a19725e1a97621bbc661ce15b1bcd5f1cf2631e17671f3c5c1e28601f4d6421726822975d20836122a86523cd6925f2"},
		"over the edge": {image.Rect(-5, 25, 15, 45), "1900931f0583381883522c861f00692506773e1e7e5837802500a02c077e45247b5e427e2700dd2d0778462573604575"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := hex.DecodeString(c.want)
			if err != nil {
				t.Fatal(err)
			}
			got := Crop(frame, c.face, 1.3, 4)
			for i := range want {
				if d := int(got[i]) - int(want[i]); d < -1 || d > 1 {
					t.Fatalf("byte %d differs:\ngot  %x\nwant %x", i, got, want)
				}
			}
		})
	}
}

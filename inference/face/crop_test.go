package face

import (
	"image"
	"testing"

	"deepfaked/preprocess"
)

// TestCrop compares with crops of the training script: the expectations were
// computed by face_crop of scripts/train/face/data.py on the same pattern. They
// are the pixels of the upper corners, the middle, the third column but one row
// from below, and the lower right corner.
func TestCrop(t *testing.T) {
	t.Parallel()
	frame := pattern(120, 90)
	for _, tc := range []struct {
		name   string
		face   image.Rectangle
		margin float64
		side   int
		want   [5][3]uint8
	}{
		{"shrunk", image.Rect(20, 10, 90, 70), 1.3, 32, [5][3]uint8{{22, 28, 33}, {47, 53, 58}, {96, 102, 107}, {137, 143, 146}, {130, 135, 118}}},
		{"enlarged", image.Rect(50, 30, 71, 54), 1.3, 40, [5][3]uint8{{78, 84, 89}, {71, 76, 81}, {104, 109, 115}, {195, 200, 206}, {32, 37, 42}}},
		{"over the corner", image.Rect(-15, -20, 45, 40), 1.3, 32, [5][3]uint8{{0, 5, 10}, {150, 51, 56}, {157, 162, 167}, {117, 122, 127}, {110, 116, 121}}},
		{"halves", image.Rect(7, 9, 32, 34), 1.3, 16, [5][3]uint8{{30, 35, 40}, {78, 84, 89}, {183, 188, 193}, {39, 44, 50}, {166, 172, 177}}},
		{"as large", image.Rect(40, 30, 60, 50), 1.6, 32, [5][3]uint8{{241, 247, 252}, {118, 124, 129}, {51, 57, 62}, {250, 255, 4}, {229, 234, 240}}},
		{"by an integer", image.Rect(30, 20, 70, 60), 1.6, 32, [5][3]uint8{{155, 161, 166}, {129, 70, 75}, {93, 99, 104}, {73, 78, 83}, {131, 136, 141}}},
		{"lower edge", image.Rect(80, 60, 125, 105), 1.25, 24, [5][3]uint8{{150, 155, 160}, {148, 154, 159}, {116, 121, 127}, {106, 112, 117}, {36, 41, 46}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			crop := Crop(frame, tc.face, tc.margin, tc.side)
			if len(crop) != tc.side*tc.side*3 {
				t.Fatalf("%d bytes", len(crop))
			}
			last := tc.side - 1
			for i, p := range []image.Point{{}, {last, 0}, {tc.side / 2, tc.side / 2}, {3, last - 1}, {last, last}} {
				for c, want := range tc.want[i] {
					got := crop[(p.Y*tc.side+p.X)*3+c]
					if off := int(got) - int(want); off < -1 || off > 1 { // OpenCV rounds weights
						t.Errorf("pixel %v, channel %d is %d, want %d", p, c, got, want)
					}
				}
			}
		})
	}
}

// pattern is a picture without symmetry.
func pattern(width, height int) preprocess.Frame {
	f := preprocess.Frame{Width: width, Height: height}
	for y := range height {
		for x := range width {
			for c := range 3 {
				f.Pix = append(f.Pix, byte((x*x*3+y*y*5+x*y*7+c*85)/16))
			}
		}
	}
	return f
}

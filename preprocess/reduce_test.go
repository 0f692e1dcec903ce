package preprocess_test

import (
	"bytes"
	"image"
	"testing"

	"deepfaked/preprocess"
)

// TestReducedParts: a part is what the whole has there, by every factor, whichever
// loop does it.
func TestReducedParts(t *testing.T) {
	t.Parallel()
	f := preprocess.Frame{Width: 41, Height: 29, Pix: make([]byte, 41*29*3)}
	for i := range f.Pix {
		f.Pix[i] = byte(i * i >> 3)
	}
	for by := 1; by <= 5; by++ {
		whole := f.Reduced(by, image.Rect(0, 0, f.Width/by, f.Height/by))
		for y := range whole.Height {
			for x := range whole.Width {
				for c := range 3 {
					if got, want := whole.Pix[(y*whole.Width+x)*3+c], blockMean(f, x, y, c, by); got != want {
						t.Fatalf("by %d at %d, %d: got %d, want %d", by, x, y, got, want)
					}
				}
			}
		}
		part := image.Rect(2, 1, whole.Width-1, whole.Height-2)
		got := f.Reduced(by, part)
		for y := range got.Height {
			at := ((part.Min.Y+y)*whole.Width + part.Min.X) * 3
			if !bytes.Equal(got.Pix[y*got.Width*3:][:got.Width*3], whole.Pix[at:][:got.Width*3]) {
				t.Fatalf("by %d: row %d of a part differs from the whole's", by, y)
			}
		}
	}
}

func blockMean(f preprocess.Frame, x, y, c, by int) byte {
	sum := by * by / 2
	for line := range by {
		for column := range by {
			sum += int(f.Pix[((y*by+line)*f.Width+x*by+column)*3+c])
		}
	}
	return byte(sum / (by * by))
}

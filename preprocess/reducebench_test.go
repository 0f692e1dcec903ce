package preprocess_test

import (
	"fmt"
	"image"
	"testing"

	"deepfaked/preprocess"
)

// BenchmarkReduced is a frame of 1280×720 as the face finder and the overview have it.
func BenchmarkReduced(b *testing.B) {
	f := preprocess.Frame{Width: 1280, Height: 720, Pix: make([]byte, 1280*720*3)}
	for _, by := range []int{2, 3, 4} {
		b.Run(fmt.Sprint(by), func(b *testing.B) {
			b.SetBytes(int64(len(f.Pix)))
			for b.Loop() {
				f.Reduced(by, image.Rect(0, 0, f.Width/by, f.Height/by))
			}
		})
	}
}

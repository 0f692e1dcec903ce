package face

import (
	"fmt"
	"image"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	finder := newFinder(b)
	for _, size := range []image.Point{{X: 640, Y: 480}, {X: 1280, Y: 720}, {X: 1280, Y: 1280}} {
		frame := painted(size.X, size.Y)
		b.Run(fmt.Sprintf("%dx%d", size.X, size.Y), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				finder.Find(frame)
			}
		})
	}
}

func BenchmarkCrop(b *testing.B) {
	frame := painted(1280, 720)
	for _, side := range []int{64, 123, 300, 700} {
		box := image.Rect(200, 100, 200+side, 100+side)
		b.Run(fmt.Sprintf("face%d", side), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Crop(frame, box, 1.3, 160)
			}
		})
	}
}

func BenchmarkReduce(b *testing.B) {
	frame := painted(1280, 720)
	for _, by := range []int{2, 3} {
		b.Run(fmt.Sprint(by), func(b *testing.B) {
			grey := new(buffer)
			for b.Loop() {
				grey.reduce(frame, by)
			}
		})
	}
}

package face

import (
	"fmt"
	"image"
	"testing"
)

func BenchmarkCrop(b *testing.B) {
	frame := located(1280, 720)
	for _, side := range []int{64, 123, 300, 700} {
		box := image.Rect(200, 100, 200+side, 100+side)
		b.Run(fmt.Sprintf("face%d", side), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Crop(frame, box, 1.3, 224)
			}
		})
	}
}

func BenchmarkLook(b *testing.B) {
	frame := located(1280, 720)
	for by, side := range map[int]int{2: 640, 3: 427} {
		b.Run(fmt.Sprint(by), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Look(frame, side)
			}
		})
	}
}

func BenchmarkFill(b *testing.B) {
	v, dst := Look(located(224, 224), 640), make([]byte, 640*640*3)
	for b.Loop() {
		v.Fill(dst, 640)
	}
}

//go:build gocv_specific_modules

package preprocess_test

import (
	"image"
	"math"
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// waves is a picture with detail everywhere, about as hard to decode as a
// photograph.
func waves(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		x, y := float64(i%w), float64(i/w)
		img.Pix[4*i] = uint8(128 + 60*math.Sin(x/7) + 60*math.Sin(y/11))
		img.Pix[4*i+1] = uint8(128 + 100*math.Sin(x*y/3000))
		img.Pix[4*i+2] = uint8(128 + 90*math.Cos((x-y)/5))
		img.Pix[4*i+3] = 255
	}
	return img
}

// BenchmarkJPEGThroughThePool is to be compared with BenchmarkJPEGBare: the
// difference is what the sandbox costs.
func BenchmarkJPEGThroughThePool(b *testing.B) {
	data := encodeJPEG(b, waves(1280, 720))
	opts := poolOptions(b, "decode")
	opts.Recycle = 1 << 20
	pool := newPool(b, opts)
	f := file(b, data)
	b.ReportAllocs()
	for b.Loop() {
		media, err := pool.Decode(b.Context(), f, int64(len(data)), preprocess.Image, nil)
		if err != nil {
			b.Fatal(err)
		}
		sum := 0
		for i := 0; i < len(media.Frames[0].Pix); i += 4096 { // touch every page
			sum += int(media.Frames[0].Pix[i])
		}
		media.Close()
	}
}

// BenchmarkJPEGBare decodes in this process and converts to RGB.
func BenchmarkJPEGBare(b *testing.B) {
	data := encodeJPEG(b, waves(1280, 720))
	gocv.SetNumThreads(1)
	b.ReportAllocs()
	for b.Loop() {
		mat, err := gocv.IMDecode(data, gocv.IMReadColor)
		if err != nil {
			b.Fatal(err)
		}
		rgb := gocv.NewMat()
		if err := gocv.CvtColor(mat, &rgb, gocv.ColorBGRToRGB); err != nil {
			b.Fatal(err)
		}
		_ = mat.Close()
		_ = rgb.Close()
	}
}

// BenchmarkChildStart is what replacing a child costs.
func BenchmarkChildStart(b *testing.B) {
	opts := poolOptions(b, "decode")
	opts.Children = 1
	for b.Loop() {
		pool, err := preprocess.NewPool(opts)
		if err != nil {
			b.Fatal(err)
		}
		_ = pool.Close()
	}
}

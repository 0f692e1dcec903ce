//go:build gocv_specific_modules && matprofile

package decode

import (
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// TestNoMatrixIsLeft runs by itself, before the parallel tests: good, damaged
// and truncated files leave no matrix behind.
func TestNoMatrixIsLeft(t *testing.T) { //nolint:paralleltest // it counts for the whole process
	before := gocv.MatProfile.Count()
	decode := func(data []byte, format preprocess.Format) {
		_, _, _ = decodeTest(t, data, format, preprocess.DefaultLimits())
	}
	for format, data := range samples(t) {
		decode(data, format)
		decode(data[:len(data)/2], format)
	}
	for _, name := range []string{"animated-lossy.webp", "orientation6.webp"} {
		decode(testdata(t, name), preprocess.WebP)
	}
	for _, name := range []string{"alpha.tiff", "orientation7.tiff", "cmyk.tiff"} {
		decode(testdata(t, name), preprocess.TIFF)
	}
	decode(testdata(t, "cmyk-adobe.jpg"), preprocess.JPEG)
	decode(animatedGIF(t, gifKeep, gifKeep), preprocess.GIF)
	if after := gocv.MatProfile.Count(); after != before {
		t.Fatalf("%d matrices are left", after-before)
	}
}

// gifKeep is the disposal that keeps.
const gifKeep = 1

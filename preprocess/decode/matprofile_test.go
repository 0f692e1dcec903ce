//go:build gocv_specific_modules && matprofile

package decode

import (
	"math"
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
	decode(testdata(t, "alpha.heic"), preprocess.HEIC)
	decode(rawTIFF(3, 32, float32s(255)), preprocess.TIFF)
	decode(animatedGIF(t, gifKeep, gifKeep), preprocess.GIF)
	if after := gocv.MatProfile.Count(); after != before {
		t.Fatalf("%d matrices are left", after-before)
	}
}

// TestFailedAllocations runs by itself, before the parallel tests: where one of
// FFmpeg's allocations fails there is an error, and it says so; several were used unseen, and
// others passed for damage of the file.
func TestFailedAllocations(t *testing.T) { //nolint:paralleltest // the bound is that of the whole process
	defer boundAllocations(math.MaxInt32)
	path := encode(t, clock(t, 2), "x.mp4", "-c:v", "libx264", "-c:a", "aac")
	for bound := 32; bound < 64<<10; bound += bound / 4 {
		src, in := openTest(t, path)
		c := container{sound: sound{limit: src.Limits.Duration}}
		boundAllocations(bound) // opening takes 64 KiB at once
		err := c.scan(in, src)
		if err == nil && c.video != nil {
			_, _, err = makeClip(src, c.video.stream, []piece{{0, 1}})
		}
		if err == nil {
			t.Errorf("no error although nothing of %d bytes can be had", bound)
		} else if !isMemory(err) {
			t.Errorf("nothing of %d bytes can be had: %v", bound, err)
		}
		boundAllocations(math.MaxInt32)
	}
}

// gifKeep is the disposal that keeps.
const gifKeep = 1

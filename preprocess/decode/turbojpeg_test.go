//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// TestPixelsOfOpenCV: the models were trained on what OpenCV decodes. TurboJPEG
// was put in its place for speed, and must not change a single value.
func TestPixelsOfOpenCV(t *testing.T) {
	t.Parallel()
	plain := []int{gocv.IMWriteJpegQuality, 90}
	colour, grey := gocv.MatTypeCV8UC3, gocv.MatTypeCV8UC1
	const progressive, interval = 2, 4 // of OpenCV's parameters for JPEG
	for name, c := range map[string]struct {
		kind          gocv.MatType
		width, height int
		params        []int
	}{
		"colour":           {colour, 640, 360, plain},
		"odd size":         {colour, 37, 21, plain},
		"one pixel":        {colour, 1, 1, plain},
		"strong":           {colour, 200, 100, []int{gocv.IMWriteJpegQuality, 10}},
		"progressive":      {colour, 123, 77, []int{progressive, 1}},
		"restart markers":  {colour, 123, 77, []int{interval, 3}},
		"grey":             {grey, 123, 77, plain},
		"grey progressive": {grey, 123, 77, []int{progressive, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := noisyJPEG(t, c.kind, c.width, c.height, c.params)
			want, err := readMat(data, gocv.IMReadColor)
			if err != nil {
				t.Fatal(err)
			}
			defer closeMat(&want)
			whole, info, err := wholeJPEG(data, preprocess.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			got, err := storedJPEG(whole, info)
			if err != nil {
				t.Fatal(err)
			}
			defer closeMat(&got)
			if got.Rows() != want.Rows() || got.Cols() != want.Cols() || !bytes.Equal(got.ToBytes(), want.ToBytes()) {
				t.Fatal("the pixels differ from OpenCV's")
			}
		})
	}
}

// noisyJPEG is a picture of coloured noise on a slope.
func noisyJPEG(t *testing.T, kind gocv.MatType, width, height int, params []int) []byte {
	t.Helper()
	mat := gocv.NewMatWithSize(height, width, kind)
	defer closeMat(&mat)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		t.Fatal(err)
	}
	seed := uint32(1)
	for i := range pix {
		seed = seed*1664525 + 1013904223
		pix[i] = byte(i*200/len(pix)) + byte(seed>>26)
	}
	coded, err := gocv.IMEncodeWithParams(gocv.JPEGFileExt, mat, params)
	if err != nil {
		t.Fatal(err)
	}
	defer coded.Close()
	return bytes.Clone(coded.GetBytes())
}

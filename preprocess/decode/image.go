//go:build gocv_specific_modules

package decode

import (
	"fmt"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// prepare sets OpenCV up: one thread, since there are as many children as
// files are to be decoded at a time.
func prepare() { gocv.SetNumThreads(1) }

// decodeImage decodes still and animated pictures. Animations yield frames
// spread over their length.
func decodeImage(src Source, out *Arena) (Found, error) {
	data, err := src.content()
	if err != nil {
		return Found{}, err
	}
	defer unmap(data)
	mat, err := still(data, src)
	if err != nil {
		return Found{}, err
	}
	defer closeMat(&mat)
	if err := canonical(mat, lossless(src.Format, data), src.Limits.Side, 0, out); err != nil {
		return Found{}, err
	}
	return Found{Kind: preprocess.Image, Width: mat.Cols(), Height: mat.Rows()}, nil
}

// still decodes one picture, upright, in 8 bits of blue, green and red. The
// caller closes it.
func still(data []byte, src Source) (gocv.Mat, error) {
	mat, err := readMat(data, gocv.IMReadColor|gocv.IMReadIgnoreOrientation)
	if err != nil {
		return gocv.Mat{}, err
	}
	if err := checkPixels(mat.Cols(), mat.Rows(), src.Limits); err != nil {
		closeMat(&mat)
		return gocv.Mat{}, err
	}
	return mat, nil
}

// lossless says whether the format has not been through a lossy encoder.
func lossless(format preprocess.Format, data []byte) bool {
	switch format {
	case preprocess.JPEG, preprocess.HEIC, preprocess.AVIF:
		return false
	case preprocess.WebP:
		return len(data) > 15 && string(data[12:16]) == "VP8L"
	default:
		return true
	}
}

// checkPixels compares the size of a picture with the limit.
func checkPixels(w, h int, limits preprocess.Limits) error {
	if int64(w)*int64(h) > limits.Pixels {
		return &preprocess.Error{
			Code:    preprocess.PayloadTooLarge,
			Message: fmt.Sprintf("The picture has %d by %d pixels; at most %d are allowed.", w, h, limits.Pixels),
		}
	}
	return nil
}

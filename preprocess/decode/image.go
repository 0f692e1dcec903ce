//go:build gocv_specific_modules

package decode

import (
	"errors"
	"fmt"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/animation"
	"deepfaked/preprocess/internal/heif"
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
	animated, err := takeApart(src.Format, data)
	if errors.Is(err, animation.ErrTooLarge) {
		return Found{}, &preprocess.Error{
			Code: preprocess.PayloadTooLarge,
			Message: fmt.Sprintf("The animation has too many frames or too many pixels in all of them; "+
				"at most %d frames and %d million pixels are allowed.", animation.MaxFrames, animation.MaxArea/1_000_000),
		}
	}
	if err != nil {
		return Found{}, err
	}
	if animated != nil {
		return decodeAnimation(animated, src, out)
	}
	if src.Format == preprocess.JPEG {
		return decodeJPEG(data, src, out)
	}
	others := hasOthers(src.Format, data)
	mat, turn, err := rawStill(data, src)
	if err != nil {
		return Found{}, err
	}
	found, err := finish(mat, turn, lossless(src.Format, data), src.Limits, out)
	if others {
		found.Notes = []preprocess.Note{preprocess.OtherPictures}
	}
	return found, err
}

// hasOthers says whether people are shown more pictures than the one that is taken.
func hasOthers(format preprocess.Format, data []byte) bool {
	switch format {
	case preprocess.AVIF, preprocess.HEIC:
		return heif.IsSequence(data)
	case preprocess.TIFF:
		return hasMorePages(data)
	default:
		return false
	}
}

// finish writes a picture as it is stored to a frame of out: upright, on white, in
// canonical form. It takes mat over.
func finish(mat gocv.Mat, turn orientation, lossless bool, limits preprocess.Limits, out *Arena) (Found, error) {
	mat, err := still(mat, turn, limits)
	if err != nil {
		return Found{}, err
	}
	defer closeMat(&mat)
	if err := canonical(mat, lossless, limits.Side, 0, out); err != nil {
		return Found{}, err
	}
	return Found{Kind: preprocess.Image, Width: mat.Cols(), Height: mat.Rows()}, nil
}

// takeApart returns nil for pictures that are not animated.
func takeApart(format preprocess.Format, data []byte) (*animation.Animation, error) {
	switch format {
	case preprocess.GIF:
		return animation.GIF(data)
	case preprocess.PNG:
		return animation.PNG(data)
	case preprocess.WebP:
		return animation.WebP(data)
	default:
		return nil, nil //nolint:nilnil // as documented
	}
}

// still brings a stored picture to 8 bits of blue, green and red, upright. It takes
// mat over, even when it fails; the caller closes the result.
func still(mat gocv.Mat, turn orientation, limits preprocess.Limits) (gocv.Mat, error) {
	if err := checkPixels(mat.Cols(), mat.Rows(), limits); err != nil {
		closeMat(&mat)
		return gocv.Mat{}, err
	}
	flat, err := onWhite(mat)
	if err != nil {
		return gocv.Mat{}, err
	}
	return upright(flat, turn)
}

// rawStill decodes one picture, of any format but JPEG, as it is stored, and says
// how it is to be turned.
func rawStill(data []byte, src Source) (gocv.Mat, orientation, error) {
	switch src.Format {
	case preprocess.HEIC:
		mat, err := decodeHEIC(data)
		return mat, asStored, err // libheif turns it itself
	case preprocess.AVIF:
		return decodeAVIF(data)
	case preprocess.TIFF:
		turn := readOrientation(data, src.Format)
		mat, err := decodeTIFF(data, src.Limits)
		return mat, turn, err
	case preprocess.PNG:
		mat, err := decodePNG(data)
		return mat, readOrientation(data, src.Format), err
	case preprocess.BMP:
		mat, err := decodeBMP(data)
		return mat, asStored, err
	default:
		mat, err := readMat(data, gocv.IMReadUnchanged)
		return mat, readOrientation(data, src.Format), err
	}
}

// lossless says whether a picture has not been through a lossy encoder.
func lossless(format preprocess.Format, data []byte) bool {
	switch format {
	case preprocess.JPEG, preprocess.HEIC, preprocess.AVIF:
		return false
	case preprocess.WebP:
		return animation.LosslessWebP(data)
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

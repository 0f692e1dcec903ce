//go:build gocv_specific_modules

package decode

import (
	"fmt"

	"gocv.io/x/gocv"
)

// onWhite brings a picture of any depth and one to four channels to 8 bits of
// blue, green and red, on white where it is transparent. It takes mat over,
// even when it fails; the caller closes the result.
func onWhite(mat gocv.Mat) (gocv.Mat, error) {
	deep, err := eightBits(mat)
	if err != nil {
		return gocv.Mat{}, err
	}
	switch deep.Channels() {
	case 3:
		return deep, nil
	case 1:
		return converted(deep, gocv.ColorGrayToBGR)
	case 4:
		return blended(deep)
	}
	channels := deep.Channels()
	closeMat(&deep)
	return gocv.Mat{}, fmt.Errorf("a picture of %d channels", channels)
}

// eightBits scales the values down. Those of floating-point pictures are taken
// to be between 0 and 1. It takes mat over.
func eightBits(mat gocv.Mat) (gocv.Mat, error) {
	var scale float32
	switch depth := mat.Type() & 7; depth {
	case gocv.MatTypeCV8U:
		return mat, nil
	case gocv.MatTypeCV16U:
		scale = 255.0 / 65535
	case gocv.MatTypeCV32F, gocv.MatTypeCV64F:
		scale = 255
	default:
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("a picture of depth %d", depth)
	}
	defer closeMat(&mat)
	scaled := gocv.NewMat()
	if err := mat.ConvertToWithParams(&scaled, gocv.MatTypeCV8U, scale, 0); err != nil {
		closeMat(&scaled)
		return gocv.Mat{}, fmt.Errorf("scale to 8 bits: %w", err)
	}
	return scaled, nil
}

// converted changes the colour space. It takes mat over.
func converted(mat gocv.Mat, code gocv.ColorConversionCode) (gocv.Mat, error) {
	defer closeMat(&mat)
	result := gocv.NewMat()
	if err := gocv.CvtColor(mat, &result, code); err != nil {
		closeMat(&result)
		return gocv.Mat{}, fmt.Errorf("convert colours: %w", err)
	}
	return result, nil
}

// blended puts a picture with straight alpha on white. It takes mat over.
func blended(mat gocv.Mat) (gocv.Mat, error) {
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	whiten(pix)
	return converted(mat, gocv.ColorBGRAToBGR)
}

// whiten puts four-channel pixels with straight alpha on white, in place.
func whiten(pix []byte) {
	for ; len(pix) >= 4; pix = pix[4:] {
		if a := uint32(pix[3]); a != 255 {
			for c := range 3 {
				pix[c] = byte((uint32(pix[c])*a + 255*(255-a) + 127) / 255)
			}
		}
	}
}

// whitenPremultiplied is whiten for colours that are multiplied by alpha; the
// result is opaque.
func whitenPremultiplied(pix []byte) {
	for ; len(pix) >= 4; pix = pix[4:] {
		white := 255 - int(pix[3])
		for c := range 3 {
			pix[c] = clamp(int(pix[c]) + white)
		}
		pix[3] = 255
	}
}

//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"

	"gocv.io/x/gocv"
)

// decodeBMP leaves the fourth byte of pixels of 32 bits out of account unless the
// header says that it is alpha: most programs write 0 there. OpenCV takes it for alpha
// in any case.
func decodeBMP(data []byte) (gocv.Mat, error) {
	mat, err := readMat(data, gocv.IMReadUnchanged)
	if err != nil || mat.Channels() != 4 || bmpAlpha(data) {
		return mat, err
	}
	return converted(mat, gocv.ColorBGRAToBGR)
}

// bmpAlpha says whether the header has a mask for alpha that is in force: it is the
// fourth of those for "bit fields" (BITMAPV3INFOHEADER and later).
func bmpAlpha(data []byte) bool {
	const header, compression, mask, bitFields = 14, 30, 66, 3
	if len(data) < mask+4 {
		return false
	}
	number := func(at int) uint32 { return binary.LittleEndian.Uint32(data[at:]) }
	return number(header) >= 56 && number(compression) == bitFields && number(mask) != 0
}

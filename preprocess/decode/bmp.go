//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"

	"gocv.io/x/gocv"
)

// decodeBMP leaves the fourth byte of pixels of 32 bits out of account unless the
// header says that it is alpha: most programs write 0 there. OpenCV takes it for alpha
// in any case, and pictures with the header of OS/2 for grey unless it is told to
// read colours.
func decodeBMP(data []byte) (gocv.Mat, error) {
	flags := gocv.IMReadUnchanged
	if bmpNumber(data, bmpHeader) == 12 {
		flags = gocv.IMReadColor
	}
	mat, err := readMat(data, flags)
	if err != nil || mat.Channels() != 4 || bmpAlpha(data) {
		return mat, err
	}
	return converted(mat, gocv.ColorBGRAToBGR)
}

// Where numbers of 32 bits stand in a BMP file.
const (
	bmpHeader      = 14 // the size of the second header
	bmpCompression = 30
	bmpAlphaMask   = 66
)

// bmpNumber reads one of them; it is 0 where the file ends before.
func bmpNumber(data []byte, at int) uint32 {
	if len(data) < at+4 {
		return 0
	}
	return binary.LittleEndian.Uint32(data[at:])
}

// bmpAlpha says whether the header has a mask for alpha that is in force: it is the
// fourth of those for "bit fields" (BITMAPV3INFOHEADER and later).
func bmpAlpha(data []byte) bool {
	const bitFields = 3
	return bmpNumber(data, bmpHeader) >= 56 && bmpNumber(data, bmpCompression) == bitFields && bmpNumber(data, bmpAlphaMask) != 0
}

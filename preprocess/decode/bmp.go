//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"gocv.io/x/gocv"
)

// decodeBMP leaves the fourth byte of pixels of 32 bits out of account unless the
// header says that it is alpha: most programs write 0 there. OpenCV takes it for alpha
// in any case, and pictures with the header of OS/2 for grey unless it is told to
// read colours. Of pixels of 16 bits it leaves the lowest bits of each colour 0, and looks for
// their masks behind the header, however long that is.
func decodeBMP(data []byte) (gocv.Mat, error) {
	if err := checkMasks(data); err != nil {
		return gocv.Mat{}, err
	}
	data = shortened(data)
	flags := gocv.IMReadUnchanged
	if bmpNumber(data, bmpHeader) == 12 {
		flags = gocv.IMReadColor
	}
	mat, err := readMat(data, flags)
	if err == nil && flags == gocv.IMReadUnchanged && bmpNumber(data, bmpBits)&0xffff == 16 {
		return filled(mat, bmpNumber(data, bmpCompression) == bmpBitFields && bmpNumber(data, bmpMasks+4) == 0x07e0)
	}
	if err != nil || mat.Channels() != 4 || bmpAlpha(data) {
		return mat, err
	}
	return converted(mat, gocv.ColorBGRAToBGR)
}

// filled repeats the highest of the five bits of each colour below them, so that white is
// white; green may have six. It takes mat over.
func filled(mat gocv.Mat, six bool) (gocv.Mat, error) {
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	for i, v := range pix {
		if six && i%3 == 1 {
			pix[i] = v | v>>6
		} else {
			pix[i] = v | v>>5
		}
	}
	return mat, nil
}

// Where numbers of 32 bits stand in a BMP file.
const (
	bmpPixels      = 10 // where they are
	bmpHeader      = 14 // the size of the second header
	bmpBits        = 28 // of a pixel, in 16 bits, and those of the compression
	bmpCompression = 30
	bmpMasks       = 54 // of red, green and blue
	bmpAlphaMask   = 66
)

// bmpNumber reads one of them; it is 0 where the file ends before.
func bmpNumber(data []byte, at int) uint32 {
	if len(data) < at+4 {
		return 0
	}
	return binary.LittleEndian.Uint32(data[at:])
}

// bmpBitFields is the compression that says that masks tell colours apart.
const bmpBitFields = 3

// checkMasks refuses pixels of 32 bits whose colours OpenCV reads from elsewhere than
// their masks say: behind the shorter headers it does not look at them, and nowhere
// does it scale other than whole bytes right.
func checkMasks(data []byte) error {
	if bmpNumber(data, bmpCompression) != bmpBitFields || bmpNumber(data, bmpBits)&0xffff != 32 {
		return nil
	}
	for i, usual := range []uint32{0x00ff0000, 0x0000ff00, 0x000000ff} {
		mask := bmpNumber(data, bmpMasks+4*i)
		whole := mask>>(bits.TrailingZeros32(mask)&^7) == 0xff
		if mask != usual && (bmpNumber(data, bmpHeader) < 56 || !whole) {
			return unsupported("The file is recognised as BMP but where its pixels hold which colour is not supported; convert it to PNG.")
		}
	}
	return nil
}

// shortened is a file of 16 bits with its masks behind a header of 40 bytes, where they are in a
// longer one.
func shortened(data []byte) []byte {
	const header, pixels = 40, bmpMasks + 3*4
	from := int64(bmpNumber(data, bmpPixels))
	if bmpNumber(data, bmpHeader) <= header || bmpNumber(data, bmpCompression) != bmpBitFields ||
		bmpNumber(data, bmpBits)&0xffff != 16 || from < pixels || from > int64(len(data)) {
		return data
	}
	short := slices.Concat(data[:pixels], data[from:])
	binary.LittleEndian.PutUint32(short[bmpPixels:], pixels)
	binary.LittleEndian.PutUint32(short[bmpHeader:], header)
	return short
}

// bmpAlpha says whether the header has a mask for alpha that is in force: it is the
// fourth of those for "bit fields" (BITMAPV3INFOHEADER and later).
func bmpAlpha(data []byte) bool {
	return bmpNumber(data, bmpHeader) >= 56 && bmpNumber(data, bmpCompression) == bmpBitFields && bmpNumber(data, bmpAlphaMask) != 0
}

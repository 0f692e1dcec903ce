//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"fmt"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// decodeTIFF decodes the first page as it is stored. OpenCV turns some kinds of
// TIFF upright and others not; the orientation is taken out of the (privately
// mapped) file before, so that all are treated alike.
func decodeTIFF(data []byte, limits preprocess.Limits) (gocv.Mat, error) {
	if err := checkPreview(data); err != nil {
		return gocv.Mat{}, err
	}
	if err := checkSamples(data); err != nil {
		return gocv.Mat{}, err
	}
	if err := checkStrips(data, limits); err != nil {
		return gocv.Mat{}, err
	}
	forgetOrientation(data)
	if packed, ok := firstPage(data).packed(); ok {
		return packed.decode()
	}
	mat, err := readMat(data, gocv.IMReadUnchanged)
	if err != nil {
		return mat, err
	}
	if err := checkFloats(mat); err != nil {
		closeMat(&mat)
		return gocv.Mat{}, err
	}
	if mat.Type() == gocv.MatTypeCV16UC1 && firstPage(data).short(262, 1) == 0 {
		return inverted(mat) // OpenCV does not look at what is white where samples have 16 bits
	}
	if mat.Channels() != 4 {
		return mat, nil
	}
	switch extra := firstPage(data).short(338, 0); {
	case extra != extraMultiplied && extra != extraStraight:
		return converted(mat, gocv.ColorBGRAToBGR)
	case extra == extraMultiplied || mat.Type() == gocv.MatTypeCV8UC4: // libtiff multiplies those of 8 bits, and only those
		return onWhitePremultiplied(mat)
	}
	return mat, nil
}

// What the samples beyond the colours are, if they are transparency. Others, as
// selections that an editor has saved, or infrared, are 0: libtiff takes them for
// transparency all the same.
const (
	extraMultiplied = 1 // the colours are multiplied by it
	extraStraight   = 2
)

// onWhitePremultiplied puts a picture on white whose colours are multiplied by alpha.
// It takes mat over.
func onWhitePremultiplied(mat gocv.Mat) (gocv.Mat, error) {
	small, err := eightBits(mat)
	if err != nil {
		return gocv.Mat{}, err
	}
	pix, err := small.DataPtrUint8()
	if err != nil {
		closeMat(&small)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	whitenPremultiplied(pix)
	return small, nil
}

// inverted makes black what is white. It takes mat over.
func inverted(mat gocv.Mat) (gocv.Mat, error) {
	if err := gocv.BitwiseNot(mat, &mat); err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("invert: %w", err)
	}
	return mat, nil
}

// forgetOrientation makes the orientation of the first page the plain one.
func forgetOrientation(data []byte) {
	page := firstPage(data)
	for _, e := range page.entries {
		if page.order.Uint16(e) == 274 {
			page.order.PutUint16(e[8:], 1)
		}
	}
}

// checkPreview refuses files whose first page is a reduced copy of another, as those of
// cameras' raw formats: a verdict on a thumbnail says nothing of the picture.
func checkPreview(data []byte) error {
	page := firstPage(data)
	preview := len(data) >= 10 && string(data[8:10]) == "CR" // Canon's, which says it nowhere else
	for _, e := range page.entries {
		tag, low := page.order.Uint16(e), e[8]
		if page.order == binary.BigEndian {
			low = e[11]
		}
		preview = preview || tag == 50706 || tag == 254 && low&1 != 0 // DNGVersion; NewSubfileType, a number of 32 bits
	}
	if preview {
		return unsupported("The file is recognised as TIFF but its first picture is a preview, as in a camera's raw file; " +
			"convert it to JPEG or PNG.")
	}
	return nil
}

// checkSamples refuses the kinds of numbers that OpenCV does not decode, or not
// as levels of light. It takes planes of more than 8 bits for interleaved pixels, and
// floating-point numbers whose zero is white for their negatives; libtiff's greys of
// CIELAB, whose white is paper's, come out yellow.
func checkSamples(data []byte) error {
	page := firstPage(data)
	bits, kind := page.short(258, 1), page.short(339, 1)
	name := map[int]string{1: "unsigned integers", 2: "signed integers", 3: "floating-point numbers", 4: "unsigned integers"}[kind]
	switch light := page.short(262, 1); {
	case light >= 8 && light <= 10:
		return unsupported("The file is recognised as TIFF but its colours are in CIELAB, which is not supported; convert it to RGB.")
	case light == 0 && kind == 3:
		return unsupported("The file is recognised as TIFF but the zero of its floating-point samples is white, which is not supported; " +
			"convert it to 8 or 16 bits.")
	case name == "":
		name = "numbers of an unknown kind"
	case bits > 8 && page.short(277, 1) > 1 && page.short(284, 1) == 2:
		return unsupported(fmt.Sprintf("The file is recognised as TIFF but its samples of %d bits lie in a plane for each colour, "+
			"which is not supported; convert it to 8 bits.", bits))
	case kind == 3 && bits == 32, (kind == 1 || kind == 4) && bits <= 16:
		return nil
	}
	return unsupported(fmt.Sprintf("The file is recognised as TIFF but its samples are %s of %d bits, which are not supported; "+
		"convert it to 8 or 16 bits.", name, bits))
}

// floatsOutside is the part of the values of a floating-point picture that may
// lie outside of 0 to 1, as sharpening and highlights bring them there.
const floatsOutside = 0.01

// checkFloats refuses a floating-point picture whose values are not from 0 to
// 1: nothing says what white is in it. Others pass.
func checkFloats(mat gocv.Mat) error {
	if mat.Type()&7 != gocv.MatTypeCV32F {
		return nil
	}
	values, err := mat.DataPtrFloat32()
	if err != nil {
		return fmt.Errorf("reach the pixels: %w", err)
	}
	outside := 0
	for _, v := range values {
		if !(v >= 0 && v <= 1) { // or no number
			outside++
		}
	}
	if float64(outside) <= floatsOutside*float64(len(values)) {
		return nil
	}
	return unsupported("The file is recognised as TIFF but its floating-point samples are not between 0 and 1; convert it to 8 or 16 bits.")
}

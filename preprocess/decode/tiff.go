//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"fmt"

	"gocv.io/x/gocv"
)

// decodeTIFF decodes the first page as it is stored. OpenCV turns some kinds of
// TIFF upright and others not; the orientation is taken out of the (privately
// mapped) file before, so that all are treated alike.
func decodeTIFF(data []byte) (gocv.Mat, error) {
	forgetOrientation(data)
	mat, err := readMat(data, gocv.IMReadUnchanged)
	if err != nil || mat.Type() != gocv.MatTypeCV8UC4 {
		return mat, err
	}
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	whitenPremultiplied(pix) // libtiff multiplies 8-bit colours, and only those
	return mat, nil
}

// forgetOrientation makes the orientation of the first page the plain one.
func forgetOrientation(data []byte) {
	if len(data) < 8 {
		return
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(data[4:]))
	if at+2 > int64(len(data)) {
		return
	}
	entries := int64(order.Uint16(data[at:]))
	for i := range entries {
		e := at + 2 + 12*i
		if e+12 > int64(len(data)) {
			return
		}
		if order.Uint16(data[e:]) == 274 {
			order.PutUint16(data[e+8:], 1)
		}
	}
}

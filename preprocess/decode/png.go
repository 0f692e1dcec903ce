//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/png"

	"gocv.io/x/gocv"
)

// decodePNG decodes a PNG file as it is stored. OpenCV forgets the one colour
// that stands for transparent in a grey or RGB file; Go does not.
func decodePNG(data []byte) (gocv.Mat, error) {
	if !hasColourKey(data) {
		return readMat(data, gocv.IMReadUnchanged)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("decode PNG: %w", err)
	}
	return straightMat(img)
}

// hasColourKey says whether a grey or RGB file has a tRNS chunk.
func hasColourKey(data []byte) bool {
	const header = 8 + 12 + 13
	if len(data) < header || data[25] != 0 && data[25] != 2 {
		return false
	}
	for rest := data[header:]; len(rest) >= 12; {
		switch string(rest[4:8]) {
		case "tRNS":
			return true
		case "IDAT":
			return false
		}
		length := int64(binary.BigEndian.Uint32(rest)) + 12
		if length > int64(len(rest)) {
			return false
		}
		rest = rest[length:]
	}
	return false
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image/png"
	"iter"

	"gocv.io/x/gocv"
)

// decodePNG decodes a PNG file as it is stored. OpenCV forgets the one colour
// that stands for transparent in a grey or RGB file; Go does not.
func decodePNG(data []byte) (gocv.Mat, error) {
	data = ended(data)
	if !hasColourKey(data) {
		return readMat(data, gocv.IMReadUnchanged)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("decode PNG: %w", err)
	}
	return straightMat(img)
}

// ended is a file that has its end: browsers show one without, and libpng calls one whose pixels
// are not all there damaged in any case.
func ended(data []byte) []byte {
	end := min(8, len(data))
	for kind, body := range pngChunks(data) {
		if kind == "IEND" {
			return data
		}
		end += 12 + len(body)
	}
	return append(data[:end:end], "\x00\x00\x00\x00IEND\xaeB`\x82"...)
}

// hasColourKey says whether a grey or RGB file has a tRNS chunk.
func hasColourKey(data []byte) bool {
	const header = 8 + 12 + 13
	if len(data) < header || data[25] != 0 && data[25] != 2 {
		return false
	}
	for kind := range pngChunks(data) {
		switch kind {
		case "tRNS":
			return true
		case "IDAT":
			return false
		}
	}
	return false
}

// pngEXIF is the EXIF data of a PNG file, or nil.
func pngEXIF(data []byte) []byte {
	for kind, body := range pngChunks(data) {
		if kind == "eXIf" {
			return body
		}
	}
	return nil
}

// pngChunks are the chunks of a PNG file, up to one that is cut off.
func pngChunks(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for rest := data[min(8, len(data)):]; len(rest) >= 12; {
			length := int64(binary.BigEndian.Uint32(rest))
			if length > int64(len(rest)-12) || !yield(string(rest[4:8]), rest[8:8+length]) {
				return
			}
			rest = rest[12+length:]
		}
	}
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"fmt"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/animation"
)

// orientation is how a stored picture has to be turned, as EXIF numbers it.
type orientation int

// asStored needs no turning.
const asStored orientation = 1

// readOrientation reads the orientation out of the first directory of the file's EXIF
// data, which are a TIFF file of their own. Whatever else is in there does not matter, and
// damaged EXIF data is not held against a picture.
func readOrientation(data []byte, format preprocess.Format) orientation {
	switch format {
	case preprocess.WebP:
		data = animation.EXIF(data)
	case preprocess.PNG:
		data = pngEXIF(data)
	}
	if !bytes.HasPrefix(data, []byte("II*\x00")) && !bytes.HasPrefix(data, []byte("MM\x00*")) {
		return asStored
	}
	const tag = 0x112
	found := orientation(firstPage(data).short(tag, int(asStored)))
	if found < 1 || found > 8 {
		return asStored
	}
	return found
}

// upright turns a picture. It takes mat over, even when it fails; the caller
// closes the result.
func upright(mat gocv.Mat, turn orientation) (gocv.Mat, error) {
	for _, s := range turn.steps() {
		turned := gocv.NewMat()
		err := s(mat, &turned)
		closeMat(&mat)
		if err != nil {
			closeMat(&turned)
			return gocv.Mat{}, fmt.Errorf("turn upright: %w", err)
		}
		mat = turned
	}
	return mat, nil
}

// step turns or mirrors src into dst.
type step func(src gocv.Mat, dst *gocv.Mat) error

// rotated turns.
func rotated(flag gocv.RotateFlag) step {
	return func(src gocv.Mat, dst *gocv.Mat) error { return gocv.Rotate(src, dst, flag) }
}

// mirrored changes left and right.
func mirrored(src gocv.Mat, dst *gocv.Mat) error { return gocv.Flip(src, dst, 1) }

// steps are those of EXIF 2.3, table 6.
func (o orientation) steps() []step {
	switch o {
	case 2:
		return []step{mirrored}
	case 3:
		return []step{rotated(gocv.Rotate180Clockwise)}
	case 4:
		return []step{rotated(gocv.Rotate180Clockwise), mirrored}
	case 5:
		return []step{rotated(gocv.Rotate90Clockwise), mirrored}
	case 6:
		return []step{rotated(gocv.Rotate90Clockwise)}
	case 7:
		return []step{rotated(gocv.Rotate90CounterClockwise), mirrored}
	case 8:
		return []step{rotated(gocv.Rotate90CounterClockwise)}
	}
	return nil
}

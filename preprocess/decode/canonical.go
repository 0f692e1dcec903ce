//go:build gocv_specific_modules

package decode

import (
	"errors"
	"fmt"
	"image"
	"time"

	"gocv.io/x/gocv"

	"deepfaked/preprocess/internal/jfif"
)

// jpegQuality is that of the pictures that the detectors were trained on; the
// encoder's own default is 4:2:0.
const jpegQuality = 90

// canonical writes an upright picture of 8 bits in blue, green, red to out, as
// the frame at the time at: its longer side at most side, and through JPEG once
// if it is lossless or had to be shrunk. mat stays the caller's and unchanged.
func canonical(mat gocv.Mat, lossless bool, side int, at time.Duration, out *Arena) error {
	if mat.Empty() || mat.Type() != gocv.MatTypeCV8UC3 {
		return fmt.Errorf("canonical frame of matrix type %d", mat.Type())
	}
	size := fit(mat.Cols(), mat.Rows(), side)
	if size.X != mat.Cols() || size.Y != mat.Rows() {
		small := gocv.NewMat()
		defer closeMat(&small)
		if err := gocv.Resize(mat, &small, size, 0, 0, gocv.InterpolationArea); err != nil {
			return fmt.Errorf("shrink: %w", err)
		}
		mat, lossless = small, true
	}
	if lossless {
		return throughJPEG(mat, at, out)
	}
	return writeRGB(mat, at, out)
}

// fit is the size of a w by h picture once its longer side is at most side.
func fit(w, h, side int) image.Point {
	longer := max(w, h)
	if longer <= side {
		return image.Pt(w, h)
	}
	scaled := func(n int) int { return max(1, (n*side+longer/2)/longer) }
	return image.Pt(scaled(w), scaled(h))
}

// throughJPEG writes mat, encoded and decoded, into a new frame of out.
func throughJPEG(mat gocv.Mat, at time.Duration, out *Arena) error {
	coded, err := gocv.IMEncodeWithParams(gocv.JPEGFileExt, mat, []int{gocv.IMWriteJpegQuality, jpegQuality})
	if err != nil {
		return fmt.Errorf("encode as JPEG: %w", err)
	}
	defer coded.Close()
	info := jfif.Info{Width: mat.Cols(), Height: mat.Rows()}
	return writeFrame(info.Width, info.Height, at, out, func(pix []byte) error {
		return decompress(coded.GetBytes(), info, inRGB, pix)
	})
}

// readMat decodes a picture that OpenCV knows. The caller closes the result.
func readMat(data []byte, flags gocv.IMReadFlag) (gocv.Mat, error) {
	mat := gocv.NewMat()
	lacked := watchNew()
	err := gocv.IMDecodeIntoMat(data, flags, &mat)
	switch {
	case err != nil || !mat.Empty():
	case lacked():
		err = errMemory
	default:
		err = errors.New("nothing was decoded")
	}
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("decode with OpenCV: %w", err)
	}
	return mat, nil
}

// writeRGB writes mat into a new frame of out.
func writeRGB(mat gocv.Mat, at time.Duration, out *Arena) error {
	return writeFrame(mat.Cols(), mat.Rows(), at, out, func(pix []byte) error { return copyRGB(mat, pix) })
}

// writeFrame writes to out a frame of w by h pixels, which are black until fill has
// made them. They are not Go's, whose collector would let megabytes of them pile up.
func writeFrame(w, h int, at time.Duration, out *Arena, fill func(pix []byte) error) error {
	mat := gocv.NewMatWithSize(h, w, gocv.MatTypeCV8UC3)
	defer closeMat(&mat)
	pix, err := mat.DataPtrUint8()
	if err == nil {
		err = fill(pix)
	}
	if err != nil {
		return err
	}
	return out.Frame(pix, w, h, at)
}

// copyRGB writes mat to pix, which is as large.
func copyRGB(mat gocv.Mat, pix []byte) error {
	frame, err := gocv.NewMatFromBytes(mat.Rows(), mat.Cols(), gocv.MatTypeCV8UC3, pix)
	if err != nil {
		return fmt.Errorf("wrap the frame: %w", err)
	}
	defer closeMat(&frame)
	if err := gocv.CvtColor(mat, &frame, gocv.ColorBGRToRGB); err != nil {
		return fmt.Errorf("swap colours: %w", err)
	}
	return nil
}

// closeMat frees m. Freeing cannot fail in a way that could be mended.
func closeMat(m *gocv.Mat) { _ = m.Close() }

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"time"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/animation"
)

// decodeAnimation shows an animation and writes frames spread over its length
// to out. Only one canvas, one frame, and one saved area are held at a time.
func decodeAnimation(a *animation.Animation, src Source, out *Arena) (Found, error) {
	if err := checkPixels(a.Width, a.Height, src.Limits); err != nil {
		return Found{}, err
	}
	for _, f := range a.Frames {
		if err := checkPixels(f.Extent.Dx(), f.Extent.Dy(), src.Limits); err != nil {
			return Found{}, err
		}
	}
	length := a.Duration()
	if length > src.Limits.Duration {
		return Found{}, &preprocess.Error{
			Code: preprocess.PayloadTooLarge,
			Message: fmt.Sprintf("The animation is %v long; at most %v are allowed.",
				length.Round(time.Second), src.Limits.Duration),
		}
	}
	if len(a.Frames) == 1 {
		length = 0
	}
	show := newScreen(a, src.Format)
	for _, m := range a.Spread(src.Limits.Frames) {
		if err := show.upTo(m.Frame); err != nil {
			return Found{}, err
		}
		if err := show.write(lossless(src.Format, a.Frames[m.Frame].Still()), src.Limits.Side, m.At, out); err != nil {
			return Found{}, err
		}
	}
	found := Found{Kind: preprocess.Image, Width: a.Width, Height: a.Height, Duration: length}
	if a.Incomplete {
		found.Notes = []preprocess.Note{preprocess.Incomplete}
	}
	return found, nil
}

// screen is what an animation shows at one moment.
type screen struct {
	animation *animation.Animation
	format    preprocess.Format
	canvas    []byte // blue, green, red and straight alpha; transparent at first
	saved     []byte // the area of the last frame as it was before, to be restored
	next      int    // the frame to be put on
}

// newScreen is the screen before the first frame.
func newScreen(a *animation.Animation, format preprocess.Format) *screen {
	return &screen{animation: a, format: format, canvas: make([]byte, 4*a.Width*a.Height)}
}

// upTo puts on all frames up to i, leaving out those that cannot be seen then.
func (s *screen) upTo(i int) error {
	if key := s.animation.KeyFrame(i); key > s.next {
		clear(s.canvas)
		s.saved, s.next = nil, key
	} else if s.next > 0 && s.next <= i {
		s.dispose(s.animation.Frames[s.next-1])
	}
	for ; s.next <= i; s.next++ {
		f := s.animation.Frames[s.next]
		if f.Disposal == animation.Restore {
			s.saved = s.area(f.Rect)
		}
		if err := s.put(f); err != nil {
			return fmt.Errorf("frame %d: %w", s.next, err)
		}
		if s.next < i {
			s.dispose(f)
		}
	}
	return nil
}

// row is the part of line y of the canvas that r covers.
func (s *screen) row(r image.Rectangle, y int) []byte {
	start := 4 * (y*s.animation.Width + r.Min.X)
	return s.canvas[start : start+4*r.Dx()]
}

// area copies a part of the canvas.
func (s *screen) area(r image.Rectangle) []byte {
	kept := make([]byte, 0, 4*r.Dx()*r.Dy())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		kept = append(kept, s.row(r, y)...)
	}
	return kept
}

// dispose does what has to be done after a frame was shown.
func (s *screen) dispose(f animation.Frame) {
	for y := f.Rect.Min.Y; y < f.Rect.Max.Y; y++ {
		switch {
		case f.Disposal == animation.Clear:
			clear(s.row(f.Rect, y))
		case f.Disposal == animation.Restore && s.saved != nil:
			start := 4 * f.Rect.Dx() * (y - f.Rect.Min.Y)
			copy(s.row(f.Rect, y), s.saved[start:])
		}
	}
}

// put decodes a frame and puts it on the canvas.
func (s *screen) put(f animation.Frame) error {
	mat, err := decodeFrame(f.Still(), s.format)
	if err != nil {
		return err
	}
	defer closeMat(&mat)
	if mat.Cols() != f.Extent.Dx() || mat.Rows() != f.Extent.Dy() {
		return errors.New("a frame is not as large as it says")
	}
	pix, err := mat.DataPtrUint8()
	if err != nil {
		return fmt.Errorf("reach the pixels: %w", err)
	}
	for y := f.Rect.Min.Y; y < f.Rect.Max.Y; y++ {
		from := pix[4*f.Extent.Dx()*(y-f.Rect.Min.Y):]
		if f.Over {
			putOver(s.row(f.Rect, y), from)
		} else {
			copy(s.row(f.Rect, y), from)
		}
	}
	return nil
}

// write writes what is shown to out.
func (s *screen) write(lossless bool, side int, at time.Duration, out *Arena) error {
	flat := bytes.Clone(s.canvas)
	whiten(flat)
	wrapped, err := gocv.NewMatFromBytes(s.animation.Height, s.animation.Width, gocv.MatTypeCV8UC4, flat)
	if err != nil {
		return fmt.Errorf("wrap the canvas: %w", err)
	}
	mat, err := converted(wrapped, gocv.ColorBGRAToBGR)
	if err != nil {
		return err
	}
	defer closeMat(&mat)
	return canonical(mat, lossless, side, at, out)
}

// decodeFrame decodes one frame of an animation to 8 bits of blue, green, red
// and straight alpha. The caller closes it.
func decodeFrame(data []byte, format preprocess.Format) (gocv.Mat, error) {
	switch format {
	case preprocess.GIF:
		img, err := decodeGIF(data)
		if err != nil {
			return gocv.Mat{}, err
		}
		return straightMat(img)
	case preprocess.PNG:
		mat, err := decodePNG(data)
		if err != nil {
			return gocv.Mat{}, err
		}
		return withAlpha(mat)
	default:
		mat, err := readMat(data, gocv.IMReadUnchanged)
		if err != nil {
			return gocv.Mat{}, err
		}
		return withAlpha(mat)
	}
}

// withAlpha brings a matrix to 8 bits and four channels. It takes mat over.
func withAlpha(mat gocv.Mat) (gocv.Mat, error) {
	small, err := eightBits(mat)
	if err != nil {
		return gocv.Mat{}, err
	}
	switch small.Channels() {
	case 1:
		return converted(small, gocv.ColorGrayToBGRA)
	case 3:
		return converted(small, gocv.ColorBGRToBGRA)
	}
	return small, nil
}

// straightMat copies a picture of Go's into a matrix of four channels with
// straight alpha. The caller closes it.
func straightMat(img image.Image) (gocv.Mat, error) {
	size := img.Bounds().Size()
	mat := gocv.NewMatWithSize(size.Y, size.X, gocv.MatTypeCV8UC4)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	straight(img, pix)
	return mat, nil
}

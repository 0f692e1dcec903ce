//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"time"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// reel takes the pictures of a stretch, as they come out of the decoder.
type reel struct {
	stretch

	at   []time.Duration // of each picture
	ref  preprocess.StretchRef
	pix  []byte // of all pictures; nil before the first
	next int    // of the stretch's packets; beyond its end once one is missing
}

// Bounds of what is decoded for the stretches of one video, beside what is for single
// pictures: three seconds of H.264, and less where pictures are small.
const (
	stretchPixels  = 1_250_000_000
	stretchPackets = 4096
)

// reels plans the stretches of a video whose pictures have so many pixels. It returns
// what is to be decoded, for them and what list says.
func (v *video) reels(list []piece, l preprocess.Limits, area int) ([]*reel, []piece) {
	stretches, all := planStretches(v.packets, list, l.Stretches, l.StretchFrames, min(v.stretchPixels/area, stretchPackets))
	reels := make([]*reel, len(stretches))
	for i, s := range stretches {
		reels[i] = &reel{stretch: s}
		for _, p := range s.packets {
			reels[i].at = append(reels[i].at, v.shownAt(p))
		}
	}
	return reels, all
}

// due is the reel that takes a picture, by its packet; nil where none does. A reel
// that has begun and was to take another one before has lost that: a jump would look
// like a fake.
func due(reels []*reel, ordinal int) *reel {
	for _, r := range reels {
		switch {
		case r.over():
		case r.packets[r.next] == ordinal:
			return r
		case r.next > 0 && ordinal >= r.from && ordinal < r.to:
			r.lose()
		}
	}
	return nil
}

// allOver says whether no reel takes any more.
func allOver(reels []*reel) bool {
	for _, r := range reels {
		if !r.over() {
			return false
		}
	}
	return true
}

// over says whether it takes no more.
func (r *reel) over() bool { return r.next >= len(r.packets) }

func (r *reel) full() bool { return r.next == len(r.packets) }

func (r *reel) lose() { r.next = len(r.packets) + 1 }

// take writes a picture to out: upright, its longer side at most side. mat stays the
// caller's and unchanged. One of another size than the first is damage and loses the
// stretch; the error is OpenCV's or the output's.
func (r *reel) take(mat gocv.Mat, turn orientation, side int, out *Arena) error {
	small, err := reduced(mat, side)
	if err != nil {
		return err
	}
	if small, err = upright(small, turn); err != nil {
		return err
	}
	defer closeMat(&small)
	if r.pix == nil {
		if r.ref, r.pix, err = out.Stretch(small.Cols(), small.Rows(), r.at); err != nil {
			return err
		}
	}
	if small.Cols() != r.ref.Width || small.Rows() != r.ref.Height {
		r.lose()
		return nil
	}
	each := r.ref.Width * r.ref.Height * 3
	if err := copyRGB(small, r.pix[r.next*each:][:each]); err != nil {
		return err
	}
	r.next++
	return nil
}

// reduced is a new picture of the same content, its longer side at most side. The
// caller closes it.
func reduced(mat gocv.Mat, side int) (gocv.Mat, error) {
	if size := fit(mat.Cols(), mat.Rows(), side); size.X != mat.Cols() || size.Y != mat.Rows() {
		small := gocv.NewMat()
		if err := gocv.Resize(mat, &small, size, 0, 0, gocv.InterpolationArea); err != nil {
			closeMat(&small)
			return gocv.Mat{}, fmt.Errorf("shrink: %w", err)
		}
		return small, nil
	}
	return mat.Clone(), nil
}

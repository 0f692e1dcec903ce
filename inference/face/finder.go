package face

import (
	"fmt"
	"image"
	"slices"

	pigo "github.com/esimov/pigo/core"

	"deepfaked/preprocess"
)

// Options tunes the search.
type Options struct {
	// Side is the longer side, in pixels, that a frame is reduced to for the
	// search; crops are cut from the frame itself.
	Side int
	// Smallest is the side of the smallest face looked for, in pixels of the
	// frame: a smaller one holds too little to be judged.
	Smallest int
	// Quality is the least cascade score of a face. Higher is surer and finds less.
	Quality float32
	// Most bounds the faces returned for a frame, largest first.
	Most int
}

// DefaultOptions are what the built-in face model was measured with.
func DefaultOptions() Options {
	return Options{Side: 640, Smallest: 64, Quality: 8, Most: 8}
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Side < 64:
		return fmt.Errorf("face: side must be at least 64 pixels")
	case o.Smallest < 20:
		return fmt.Errorf("face: smallest must be at least 20 pixels")
	case o.Most < 1:
		return fmt.Errorf("face: most must be at least 1")
	}
	return nil
}

// Finder looks for upright frontal faces with a cascade of pixel comparisons
// (Markuš et al., 2013, as in pigo). It is safe for concurrent use.
type Finder struct {
	opts    Options
	cascade *pigo.Pigo
}

// NewFinder reads the cascade.
func NewFinder(cascade []byte, opts Options) (*Finder, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	c, err := pigo.NewPigo().Unpack(cascade)
	if err != nil {
		return nil, fmt.Errorf("read the face cascade: %w", err)
	}
	return &Finder{opts: opts, cascade: c}, nil
}

// Find returns the squares that hold a face, in pixels of the frame, largest
// first. A square may reach over the edge of the frame.
func (f *Finder) Find(frame preprocess.Frame) []image.Rectangle {
	grey, by := reduce(frame, f.opts.Side)
	smallest := max(f.opts.Smallest/by, 20)
	found := f.cascade.RunCascade(pigo.CascadeParams{
		MinSize: smallest, MaxSize: max(grey.Rect.Dx(), grey.Rect.Dy()),
		ShiftFactor: 0.1, ScaleFactor: 1.1,
		ImageParams: pigo.ImageParams{
			Pixels: grey.Pix, Rows: grey.Rect.Dy(), Cols: grey.Rect.Dx(), Dim: grey.Stride,
		},
	}, 0)
	var faces []image.Rectangle
	for _, d := range f.cascade.ClusterDetections(found, 0.2) {
		if d.Q >= f.opts.Quality {
			half := d.Scale * by / 2
			faces = append(faces, image.Rect(d.Col*by-half, d.Row*by-half, d.Col*by+half, d.Row*by+half))
		}
	}
	slices.SortStableFunc(faces, func(a, b image.Rectangle) int { return b.Dx() - a.Dx() })
	return faces[:min(len(faces), f.opts.Most)]
}

// reduce averages blocks of by×by pixels into one grey pixel, so that the longer
// side is at most side.
func reduce(frame preprocess.Frame, side int) (*image.Gray, int) {
	by := max(1, (max(frame.Width, frame.Height)+side-1)/side)
	grey := image.NewGray(image.Rect(0, 0, max(1, frame.Width/by), max(1, frame.Height/by)))
	area := by * by * 1000
	for y := range grey.Rect.Dy() {
		for x := range grey.Rect.Dx() {
			sum := 0
			for v := range min(by, frame.Height-y*by) {
				at := ((y*by+v)*frame.Width + x*by) * 3
				for _, w := range [3]int{299, 587, 114} { // ITU-R BT.601 luma, in thousandths
					for u := range min(by, frame.Width-x*by) {
						sum += w * int(frame.Pix[at+3*u])
					}
					at++
				}
			}
			grey.Pix[y*grey.Stride+x] = uint8(sum / area) //nolint:gosec // a mean of bytes is a byte
		}
	}
	return grey, by
}

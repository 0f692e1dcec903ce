package face

import (
	"fmt"
	"image"
	"slices"
	"sync"

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
	// Half of it is enough for a large one, which stands out from fewer windows.
	Quality float32
	// Most bounds the faces returned for a frame, largest first.
	Most int
}

// DefaultOptions find as many portraits as a search for faces of 56 pixels does,
// in a third of the time; smaller faces in the background are left out.
func DefaultOptions() Options {
	return Options{Side: 640, Smallest: 80, Quality: 6, Most: 8}
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
	first   *pigo.Pigo // its first trees
	buffers sync.Pool  // of *buffer
}

// NewFinder reads the cascade.
func NewFinder(cascade []byte, opts Options) (*Finder, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	first, err := cut(cascade, firstTrees)
	if err != nil {
		return nil, err
	}
	f := &Finder{opts: opts, buffers: sync.Pool{New: func() any { return &buffer{looked: map[window]bool{}} }}}
	if f.first, err = unpack(first); err != nil {
		return nil, err
	}
	f.cascade, err = unpack(cascade)
	return f, err
}

func unpack(cascade []byte) (*pigo.Pigo, error) {
	c, err := pigo.NewPigo().Unpack(cascade)
	if err != nil {
		return nil, fmt.Errorf("read the face cascade: %w", err)
	}
	return c, nil
}

// The cascade looks for squares within the picture only, but the face of a
// portrait often reaches to its edge. Therefore faces larger than large of the
// longer side are looked for in the picture continued by its edge pixels, by
// surround of that side; smaller ones without.
const (
	large    = 0.3
	surround = 0.3
)

// The face model was trained and measured on the boxes of another detector
// (scripts/train/face/detect.py). Against them the cascade's squares are smaller
// and higher, which these factors of the square's side make up for.
const (
	growth = 1.08
	drop   = 0.04
)

// Find returns the squares that hold a face, in pixels of the frame, largest
// first. A square may reach over the edge of the frame.
func (f *Finder) Find(frame preprocess.Frame) []image.Rectangle {
	by := max(1, (max(frame.Width, frame.Height)+f.opts.Side-1)/f.opts.Side)
	if min(frame.Width, frame.Height) < by {
		return nil
	}
	grey := f.buffers.Get().(*buffer)
	defer f.buffers.Put(grey)
	grey.reduce(frame, by)
	longer := max(grey.width, grey.height)
	smallest := max(int(float64(f.opts.Smallest)/growth)/by, 20)
	bound, margin := max(smallest, int(large*float64(longer))), int(surround*float64(longer))
	found := f.sift(grey.picture, grey.looked, sides(smallest, bound), 2)
	for _, d := range f.sift(grey.continued(margin), grey.looked, sides(bound, longer), 1) {
		d.Col, d.Row = d.Col-margin, d.Row-margin
		found = append(found, d)
	}
	var faces []image.Rectangle
	for _, d := range f.cascade.ClusterDetections(found, 0.2) {
		if d.Q >= f.opts.Quality || d.Scale >= bound && 2*d.Q >= f.opts.Quality {
			faces = append(faces, box(d, by))
		}
	}
	slices.SortStableFunc(faces, func(a, b image.Rectangle) int { return b.Dx() - a.Dx() })
	return faces[:min(len(faces), f.opts.Most)]
}

// box is the face of a square of the cascade, in pixels by times as large.
func box(d pigo.Detection, by int) image.Rectangle {
	side := float64(d.Scale * by)
	half := int(growth * side / 2)
	centre := image.Pt(d.Col*by, d.Row*by+int(drop*side))
	return image.Rectangle{Min: centre.Sub(image.Pt(half, half)), Max: centre.Add(image.Pt(half, half))}
}

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

// Finder looks for upright frontal faces. It is safe for concurrent use.
type Finder struct {
	opts    Options
	cascade *cascade
	cluster *pigo.Pigo
	buffers sync.Pool // of *buffer
}

// NewFinder reads the cascade.
func NewFinder(packed []byte, opts Options) (*Finder, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	c, err := readCascade(packed)
	if err != nil {
		return nil, err
	}
	return &Finder{
		opts: opts, cascade: c, cluster: pigo.NewPigo(),
		buffers: sync.Pool{New: func() any { return new(buffer) }},
	}, nil
}

// Find returns the squares that hold a face, in pixels of the frame, largest
// first. A square may reach over the edge of the frame.
func (f *Finder) Find(frame preprocess.Frame) []image.Rectangle {
	by := max(1, (max(frame.Width, frame.Height)+f.opts.Side-1)/f.opts.Side)
	width, height := frame.Width/by, frame.Height/by
	smallest := max(f.opts.Smallest/by, 20)
	if min(width, height) < smallest {
		return nil
	}
	grey := f.buffers.Get().(*buffer)
	defer f.buffers.Put(grey)
	grey.reduce(frame, by)
	var faces []image.Rectangle
	found := f.cascade.search(grey, width, height, smallest, nil)
	for _, d := range f.cluster.ClusterDetections(found, 0.2) {
		if d.Q >= f.opts.Quality {
			half := d.Scale * by / 2
			faces = append(faces, image.Rect(d.Col*by-half, d.Row*by-half, d.Col*by+half, d.Row*by+half))
		}
	}
	slices.SortStableFunc(faces, func(a, b image.Rectangle) int { return b.Dx() - a.Dx() })
	return faces[:min(len(faces), f.opts.Most)]
}

// buffer is the memory of one search.
type buffer struct {
	pix []byte // grey
	sum []int  // of one row

	pairs   []pair   // for windows of one size, of the trees that any has come to
	windows []window // of one row
}

// reduce averages blocks of by×by pixels into one grey pixel each. What is left
// over at the right and lower edge is not looked at. The frame must hold a block.
func (b *buffer) reduce(frame preprocess.Frame, by int) {
	width, height := frame.Width/by, frame.Height/by
	b.pix = slices.Grow(b.pix[:0], width*height)[:width*height]
	b.sum = slices.Grow(b.sum[:0], width)[:width]
	scale := 1 / float32(1000*by*by)
	for y := range height {
		clear(b.sum)
		for v := range by {
			luma(b.sum, frame.Pix[(y*by+v)*frame.Width*3:], by)
		}
		row := b.pix[y*width : (y+1)*width]
		for x, s := range b.sum {
			row[x] = byte(float32(s) * scale)
		}
	}
}

// luma adds by pixels of the row to each sum: ITU-R BT.601, in thousandths.
func luma(sum []int, row []byte, by int) {
	for x := range sum {
		s := 0
		for p := row[x*by*3 : (x+1)*by*3]; len(p) >= 3; p = p[3:] {
			s += 299*int(p[0]) + 587*int(p[1]) + 114*int(p[2])
		}
		sum[x] += s
	}
}

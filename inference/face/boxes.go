package face

import (
	"image"
	"math"
	"slices"

	"deepfaked/models"
)

// Options bounds what is taken for a face.
type Options struct {
	Smallest int // longer side of the smallest face in pixels of the frame: a smaller one holds too little to be judged
	Most     int // faces of a frame, the largest
}

// Boxes are the faces of what a model has found in the view, in pixels of the
// frame, the largest first. They may reach over its edges, by no more than its
// size. output holds one box after the other, the surest first; of two that
// overlap more than the card allows the weaker is dropped.
func (v View) Boxes(output []float32, card models.Detection, opts Options) []image.Rectangle {
	var faces []image.Rectangle
	sure := math.Log(card.Threshold / (1 - card.Threshold))
	for ; len(output) >= models.BoxLen; output = output[models.BoxLen:] {
		if float64(output[0]) < sure {
			continue
		}
		box := v.box(output[1:models.BoxLen])
		if max(box.Dx(), box.Dy()) < opts.Smallest || box.Empty() ||
			slices.ContainsFunc(faces, func(f image.Rectangle) bool { return overlap(f, box) > card.Overlap }) {
			continue
		}
		faces = append(faces, box)
	}
	slices.SortStableFunc(faces, func(a, b image.Rectangle) int { return max(b.Dx(), b.Dy()) - max(a.Dx(), a.Dy()) })
	return faces[:min(len(faces), opts.Most)]
}

// box is that of four edges in pixels of the view.
func (v View) box(edges []float32) image.Rectangle {
	var at [4]int
	for i, e := range edges {
		size := float64(v.reduced.Width)
		if i%2 == 1 {
			size = float64(v.reduced.Height)
		}
		at[i] = int(math.Round(min(max(float64(e), -size), 2*size) * float64(v.by)))
	}
	return image.Rectangle{Min: image.Pt(at[0], at[1]), Max: image.Pt(at[2], at[3])}
}

// overlap is the intersection of two boxes over their union.
func overlap(a, b image.Rectangle) float64 {
	area := func(r image.Rectangle) float64 { return float64(r.Dx()) * float64(r.Dy()) }
	both := a.Intersect(b)
	if both.Empty() {
		return 0
	}
	return area(both) / (area(a) + area(b) - area(both))
}

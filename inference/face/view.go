package face

import (
	"bytes"
	"image"

	"deepfaked/preprocess"
)

// backdrop is what surrounds a view in the input of a model that finds faces.
const backdrop = 128

// grey is to be copied from: several times as fast as a loop over bytes.
var grey = bytes.Repeat([]byte{backdrop}, 4096)

// View is a frame as a model that finds faces is shown it.
type View struct {
	by      int // pixels of the frame along one of the view
	reduced preprocess.Frame
}

// Look reduces a frame by the smallest whole factor with which it fits into side
// by side pixels; what is left over at the right and lower edge is not looked at.
// The training script does the same.
func Look(frame preprocess.Frame, side int) View {
	by := max(1, (max(frame.Width, frame.Height)+side-1)/side)
	return View{by: by, reduced: frame.Reduced(by, image.Rect(0, 0, frame.Width/by, frame.Height/by))}
}

// cut is in what steps of pixels the built-in finder leaves out what a view does
// not fill of its input.
const cut = 128

// Extent names how much of the input the view fills, as far as it matters to a
// model that leaves out the rest. It is never 0.
func (v View) Extent() int { return (v.reduced.Width+cut-1)/cut<<16 | (v.reduced.Height+cut-1)/cut }

// FillWhole writes as Fill does, and has the last pixel of the last cut's first line, which
// the built-in finder looks at, be off the backdrop by a level. So a model which leaves out
// what nobody fills leaves out nothing: views of any extent may share its batch, and its
// shapes are always the same.
func (v View) FillWhole(dst []byte, side int) {
	v.Fill(dst, side)
	if mark := &dst[(max(0, side-cut)*side+side-1)*3]; *mark == backdrop {
		*mark++
	}
}

// Fill writes the view to the upper left of side by side RGB pixels, and the
// backdrop to the rest.
func (v View) Fill(dst []byte, side int) {
	for y := range side {
		row := dst[y*side*3:][:side*3]
		if y < v.reduced.Height {
			row = row[copy(row, v.reduced.Pix[y*v.reduced.Width*3:][:v.reduced.Width*3]):]
		}
		for len(row) > 0 {
			row = row[copy(row, grey):]
		}
	}
}

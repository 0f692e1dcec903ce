package face

import (
	"image"
	"math"

	"deepfaked/preprocess"
)

// Crop cuts the square of margin times the face's longer side around its centre
// and scales it to side×side RGB pixels, by area averaging where the square is
// larger and bilinearly otherwise. What lies beyond the frame repeats the
// frame's edge. The training script cuts its crops by the same rule.
func Crop(frame preprocess.Frame, face image.Rectangle, margin float64, side int) []byte {
	width := max(2, int(math.RoundToEven(margin*float64(max(face.Dx(), face.Dy())))))
	across := axis(corner(face.Min.X, face.Max.X, width), width, side, frame.Width)
	down := axis(corner(face.Min.Y, face.Max.Y, width), width, side, frame.Height)
	// Only these columns of the frame are looked at.
	first, last := across[0][0].at, 0
	for _, taps := range across {
		last = max(last, taps[len(taps)-1].at)
	}
	out := make([]byte, 0, side*side*3)
	sum := make([]float32, (last-first+1)*3)
	for _, taps := range down {
		clear(sum)
		for _, t := range taps {
			at := (t.at*frame.Width + first) * 3
			add(sum, frame.Pix[at:at+len(sum)], t.weight)
		}
		out = scaleRow(out, sum, across, first)
	}
	return out
}

// corner is where a square of so many pixels begins that is to have the same
// centre as the stretch from low to high. Halves go to the even number.
func corner(low, high, width int) int {
	return int(math.RoundToEven(float64(low+high-width) / 2))
}

// add adds a row of pixels, weighted, to sum.
func add(sum []float32, row []byte, weight float32) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += weight * float32(row[i])
	}
}

// scaleRow appends one row of the result. row begins with column first.
func scaleRow(out []byte, row []float32, across [][]tap, first int) []byte {
	for _, taps := range across {
		r, g, b := float32(0.5), float32(0.5), float32(0.5) // rounds
		for _, t := range taps {
			p := row[(t.at-first)*3:][:3]
			r += t.weight * p[0]
			g += t.weight * p[1]
			b += t.weight * p[2]
		}
		out = append(out, byte(r), byte(g), byte(b))
	}
	return out
}

// tap is the share that one pixel of the frame has in one of the crop.
type tap struct {
	at     int // column or row of the frame
	weight float32
}

// axis says of what the side pixels of a crop are made, along one edge: of the
// width pixels from start on, in a frame of length pixels, whose outermost ones
// stand for all beyond. Positions never fall.
func axis(start, width, side, length int) [][]tap {
	inside := func(i int) int { return min(max(start+i, 0), length-1) }
	taps := make([]tap, 0, width+2*side)
	out := make([][]tap, side)
	for i := range out {
		began := len(taps)
		if width > side { // in units of 1/side of a pixel, pixel k is [k*side, (k+1)*side)
			from, to := i*width, (i+1)*width
			for k := from / side; k*side < to; k++ {
				share := min((k+1)*side, to) - max(k*side, from)
				taps = append(taps, tap{inside(k), float32(share) / float32(width)})
			}
		} else {
			at := min(max((float64(i)+0.5)*float64(width)/float64(side)-0.5, 0), float64(width-1))
			k := min(int(at), width-2)
			part := float32(at - float64(k))
			taps = append(taps, tap{inside(k), 1 - part}, tap{inside(k + 1), part})
		}
		out[i] = taps[began:len(taps):len(taps)]
	}
	return out
}

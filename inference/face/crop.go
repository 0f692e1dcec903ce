package face

import (
	"image"
	"math"

	"deepfaked/preprocess"
)

// Crop cuts the square of margin times the face's longer side around its centre
// and scales it to side×side RGB pixels. What lies beyond the frame repeats the
// frame's edge. It is face_crop of scripts/train/face/data.py: the face model was
// trained and measured on crops cut by it.
func Crop(frame preprocess.Frame, face image.Rectangle, margin float64, side int) []byte {
	width := max(2, roundHalfEven(margin*float64(max(face.Dx(), face.Dy()))))
	left := roundHalfEven(float64(face.Min.X+face.Max.X-width) / 2)
	top := roundHalfEven(float64(face.Min.Y+face.Max.Y-width) / 2)
	spans := scaling(width, side)
	columns := make([]int, width) // where the pixels of a row begin
	for x := range columns {
		columns[x] = 3 * min(max(left+x, 0), frame.Width-1)
	}
	rows := make([][]float32, width)
	for y := range rows {
		at := 3 * frame.Width * min(max(top+y, 0), frame.Height-1)
		rows[y] = scaledRow(frame.Pix[at:at+3*frame.Width], columns, spans)
	}
	return stacked(rows, spans)
}

// roundHalfEven rounds halves to the even number, as Python does.
func roundHalfEven(x float64) int { return int(math.RoundToEven(x)) }

// scaledRow scales the pixels of a row that begin at columns.
func scaledRow(row []byte, columns []int, spans []span) []float32 {
	out := make([]float32, 0, 3*len(spans))
	for _, s := range spans {
		var red, green, blue float32
		for i, weight := range s.weights {
			p := row[columns[s.first+i]:][:3]
			red += weight * float32(p[0])
			green += weight * float32(p[1])
			blue += weight * float32(p[2])
		}
		out = append(out, red, green, blue)
	}
	return out
}

// stacked scales the rows to the height that the spans give, in whole bytes.
func stacked(rows [][]float32, spans []span) []byte {
	out := make([]byte, 0, len(spans)*len(rows[0]))
	sums := make([]float32, len(rows[0]))
	for _, s := range spans {
		clear(sums)
		for i, weight := range s.weights {
			for x, v := range rows[s.first+i] {
				sums[x] += weight * v
			}
		}
		for _, v := range sums {
			out = append(out, byte(v+0.5)) // weights add up to 1: a mean of bytes
		}
	}
	return out
}

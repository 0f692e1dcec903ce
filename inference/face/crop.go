package face

import (
	"image"

	"golang.org/x/image/draw"

	"deepfaked/preprocess"
)

// Crop cuts the square of margin times the face's longer side around its centre
// and scales it to side×side RGB pixels. What lies beyond the frame repeats the
// frame's edge. The training script cuts its crops in the same way.
func Crop(frame preprocess.Frame, face image.Rectangle, margin float64, side int) []byte {
	width := max(2, int(margin*float64(max(face.Dx(), face.Dy()))+0.5))
	left := (face.Min.X+face.Max.X)/2 - width/2
	top := (face.Min.Y+face.Max.Y)/2 - width/2
	cut := image.NewRGBA(image.Rect(0, 0, width, width))
	for y := range width {
		row := min(max(top+y, 0), frame.Height-1) * frame.Width
		for x := range width {
			at := (row + min(max(left+x, 0), frame.Width-1)) * 3
			to := y*cut.Stride + 4*x
			copy(cut.Pix[to:to+3], frame.Pix[at:at+3])
			cut.Pix[to+3] = 0xff
		}
	}
	scaled := image.NewRGBA(image.Rect(0, 0, side, side))
	draw.BiLinear.Scale(scaled, scaled.Rect, cut, cut.Rect, draw.Src, nil)
	return pack(scaled)
}

// pack drops the fourth byte of every pixel.
func pack(im *image.RGBA) []byte {
	out := make([]byte, 0, len(im.Pix)/4*3)
	for i := 0; i < len(im.Pix); i += 4 {
		out = append(out, im.Pix[i:i+3]...)
	}
	return out
}

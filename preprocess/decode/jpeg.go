//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"

	"gocv.io/x/gocv"

	"deepfaked/preprocess/internal/jfif"
)

// decodeJPEG decodes a JPEG file as it is stored. OpenCV fills what is missing
// of a truncated file with grey, so that its end is looked for first.
func decodeJPEG(data []byte) (gocv.Mat, error) {
	info, err := jfif.Scan(data)
	if err != nil {
		return gocv.Mat{}, err
	}
	if info.Components == 4 {
		return decodeCMYK(data, info)
	}
	return readMat(data, gocv.IMReadColor|gocv.IMReadIgnoreOrientation)
}

// decodeCMYK decodes four inks. Files that an Adobe program has marked hold
// them inverted, others plain; OpenCV takes all for inverted. Go's decoder
// insists on the mark, and undoes the inversion that comes with it.
func decodeCMYK(data []byte, info jfif.Info) (gocv.Mat, error) {
	if !info.Adobe {
		data = jfif.MarkAdobe(data)
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("decode CMYK: %w", err)
	}
	inks, ok := img.(*image.CMYK)
	if !ok {
		return gocv.Mat{}, errors.New("decode CMYK: other colours were found")
	}
	size := inks.Rect.Size()
	mat := gocv.NewMatWithSize(size.Y, size.X, gocv.MatTypeCV8UC3)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	bgrOfInks(inks, !info.Adobe, pix)
	return mat, nil
}

// bgrOfInks converts the simple way, without a profile, as browsers do.
func bgrOfInks(p *image.CMYK, inverted bool, out []byte) {
	flip := byte(0)
	if inverted {
		flip = 255
	}
	size := p.Rect.Size()
	for y := range size.Y {
		row := p.Pix[y*p.Stride:]
		for x := range size.X {
			s := row[4*x : 4*x+4 : 4*x+4]
			k := 255 - int(s[3]^flip)
			of := func(ink byte) byte { return byte(((255-int(ink^flip))*k + 127) / 255) }
			out[0], out[1], out[2] = of(s[2]), of(s[1]), of(s[0])
			out = out[3:]
		}
	}
}

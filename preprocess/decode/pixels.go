package decode

import (
	"image"
	"image/color"

	"deepfaked/preprocess/internal/heif"
)

// bgrOfPremultiplied puts a picture on white, as rows of blue, green and red
// without padding.
func bgrOfPremultiplied(p *image.RGBA, out []byte) {
	size := p.Rect.Size()
	for y := range size.Y {
		row := p.Pix[y*p.Stride:]
		for x := range size.X {
			s, d := row[4*x:4*x+4:4*x+4], out[3*(y*size.X+x):]
			white := 255 - int(s[3])
			d[0], d[1], d[2] = clamp(int(s[2])+white), clamp(int(s[1])+white), clamp(int(s[0])+white)
		}
	}
}

// whitenBy puts three-channel pixels on white, in place. alpha is grey, and may
// be of another size; the pixels may have been multiplied by it.
func whitenBy(pix []byte, size image.Point, alpha image.Image, premultiplied bool) {
	b := alpha.Bounds()
	if b.Empty() {
		return
	}
	for y := range size.Y {
		for x := range size.X {
			at := alpha.At(b.Min.X+x*b.Dx()/size.X, b.Min.Y+y*b.Dy()/size.Y)
			a := int(color.GrayModel.Convert(at).(color.Gray).Y)
			for c := range 3 {
				if premultiplied {
					pix[c] = clamp(int(pix[c]) + 255 - a)
				} else {
					pix[c] = byte((int(pix[c])*a + 255*(255-a) + 127) / 255)
				}
			}
			pix = pix[3:]
		}
	}
}

// bgrOfStraight is bgrOfPremultiplied for straight alpha.
func bgrOfStraight(p *image.NRGBA, out []byte) {
	size := p.Rect.Size()
	for y := range size.Y {
		row := p.Pix[y*p.Stride:]
		for x := range size.X {
			s, d := row[4*x:4*x+4:4*x+4], out[3*(y*size.X+x):]
			a := int(s[3])
			over := func(c byte) byte { return byte((int(c)*a + 255*(255-a) + 127) / 255) }
			d[0], d[1], d[2] = over(s[2]), over(s[1]), over(s[0])
		}
	}
}

// bgrOfAny is bgrOfPremultiplied for every other kind of picture.
func bgrOfAny(img image.Image, out []byte) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.RGBA64Model.Convert(img.At(x, y)).(color.RGBA64)
			white := 0xffff - uint32(c.A)
			down := func(v uint16) byte { return byte((min(uint32(v)+white, 0xffff) + 128) / 257) }
			out[0], out[1], out[2] = down(c.B), down(c.G), down(c.R)
			out = out[3:]
		}
	}
}

// coefficients of luma: ISO/IEC 23091-2, table 4.
func coefficients(matrix int) (red, blue float64) {
	switch matrix {
	case 1:
		return 0.2126, 0.0722
	case 9, 10:
		return 0.2627, 0.0593
	}
	return 0.299, 0.114
}

// bgrOfYCbCr converts with the matrix and range that the file declares; BT.601
// in full range, as in JPEG, is what phones write and what stands for nothing
// declared. Fixed point of 16 bits.
func bgrOfYCbCr(p *image.YCbCr, c heif.Color, out []byte) {
	kr, kb := coefficients(c.Matrix)
	kg := 1 - kr - kb
	scale, offset, chroma := 65536.0, 0, 65536.0
	if c.Declared && !c.FullRange {
		scale, offset, chroma = 65536*255.0/219, 16, 65536*255.0/224
	}
	luma := int(scale + 0.5)
	toRed, toBlue := int(2*(1-kr)*chroma), int(2*(1-kb)*chroma)
	greenOfBlue, greenOfRed := int(2*kb*(1-kb)/kg*chroma), int(2*kr*(1-kr)/kg*chroma)
	b := p.Rect
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			i := p.COffset(x, y)
			v := (int(p.Y[p.YOffset(x, y)])-offset)*luma + 32768
			cb, cr := int(p.Cb[i])-128, int(p.Cr[i])-128
			out[0] = clamp((v + toBlue*cb) >> 16)
			out[1] = clamp((v - greenOfBlue*cb - greenOfRed*cr) >> 16)
			out[2] = clamp((v + toRed*cr) >> 16)
			out = out[3:]
		}
	}
}

// clamp limits v to a byte.
func clamp(v int) byte { return byte(max(0, min(255, v))) }

// straight copies a picture as blue, green, red and straight alpha.
func straight(img image.Image, out []byte) {
	if p, ok := img.(*image.Paletted); ok {
		straightPaletted(p, out)
		return
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			out[0], out[1], out[2], out[3] = c.B, c.G, c.R, c.A
			out = out[4:]
		}
	}
}

// straightPaletted is straight for a palette.
func straightPaletted(p *image.Paletted, out []byte) {
	var table [256][4]byte
	for i, entry := range p.Palette {
		c := color.NRGBAModel.Convert(entry).(color.NRGBA)
		table[i] = [4]byte{c.B, c.G, c.R, c.A}
	}
	size := p.Rect.Size()
	for y := range size.Y {
		for _, i := range p.Pix[y*p.Stride : y*p.Stride+size.X] {
			copy(out, table[i][:])
			out = out[4:]
		}
	}
}

// putOver blends four-channel pixels with straight alpha over others.
func putOver(below, above []byte) {
	for ; len(below) >= 4; below, above = below[4:], above[4:] {
		switch a := uint32(above[3]); a {
		case 0:
		case 255:
			copy(below[:4], above)
		default:
			rest := uint32(below[3]) * (255 - a) / 255
			sum := a + rest
			for c := range 3 {
				below[c] = byte((uint32(above[c])*a + uint32(below[c])*rest + sum/2) / sum)
			}
			below[3] = byte(sum)
		}
	}
}

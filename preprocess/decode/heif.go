//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"slices"

	"github.com/gen2brain/avif"
	"github.com/gen2brain/heic"
	"gocv.io/x/gocv"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/heif"
)

// minHEIC is the narrowest picture that the HEIC library reads right: it mistakes
// the length of lines of planes of less than 64 values, which libheif pads.
const minHEIC = 128

// decodeHEIC decodes the main picture; libheif, inside of WebAssembly, turns it
// upright. The caller closes the result, which is on white.
func decodeHEIC(data []byte) (gocv.Mat, error) {
	info, err := heif.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, heif.ErrNoPicture) {
		return gocv.Mat{}, err
	}
	if err := checkDepth(heif.CodedAs(data).Config); err != nil {
		return gocv.Mat{}, err
	}
	img, err := readHEIC(data)
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("decode HEIC: %w", err)
	}
	if img.Bounds().Dx() < minHEIC {
		return gocv.Mat{}, &preprocess.Error{
			Code:    preprocess.UnsupportedMediaType,
			Message: fmt.Sprintf("HEIC pictures that are narrower than %d pixels are not supported.", minHEIC),
		}
	}
	mat, err := matOf(img, heicColor(data, info.Color))
	if err != nil || !info.Alpha {
		return mat, err
	}
	if err := heicOnWhite(mat, heif.AlphaFile(data), heif.Premultiplied(data)); err != nil {
		closeMat(&mat)
		return gocv.Mat{}, err
	}
	return mat, nil
}

// checkDepth refuses what the library writes beyond the room that it has made, until its machine faults: more than
// 8 bits, and colours for each pixel. hvcC says how a picture is coded (ISO/IEC 14496-15, 8.3.3.1).
func checkDepth(hvcC []byte) error {
	const chroma, luma, forEach = 16, 17, 3 // where what is told, and that all pixels have colours of their own
	if len(hvcC) <= luma || hvcC[chroma]&3 != forEach || hvcC[luma]&7 == 0 {
		return nil
	}
	return unsupported(fmt.Sprintf("The file is recognised as HEIC but it has %d bits and colours for each pixel (4:4:4), which is not supported; "+
		"convert it to JPEG or PNG.", 8+int(hvcC[luma]&7)))
}

// readHEIC has the library decode a main picture. It makes something up for what is missing
// of coded pixels, and refuses files whose major brand is none of its own, such as mif1, without
// a look at the others; data is given that of most.
func readHEIC(data []byte) (image.Image, error) {
	if err := heif.CheckCoded(data); err != nil {
		return nil, err
	}
	if len(data) >= 12 {
		copy(data[8:12], "heic")
	}
	img, err := heic.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	mendStart(img)
	return img, nil
}

// overwritten is how many bytes of its first row the library loses: it gives the memory back
// that the picture is in, and the allocator writes its own there.
const overwritten = 24

// mendStart puts the start of the second row of a picture in the place of what is lost.
func mendStart(img image.Image) {
	var pix []byte
	var stride int
	switch p := img.(type) {
	case *image.YCbCr:
		pix, stride = p.Y, p.YStride
	case *image.Gray:
		pix, stride = p.Pix, p.Stride
	case *image.RGBA:
		pix, stride = p.Pix, p.Stride
	case *image.NRGBA:
		pix, stride = p.Pix, p.Stride
	}
	if len(pix) >= stride+overwritten && stride >= overwritten {
		copy(pix[:overwritten], pix[stride:])
	}
}

// heicOnWhite puts a decoded picture on white. The library drops transparency,
// but decodes it from a file that calls it the main picture; nil is none.
func heicOnWhite(mat gocv.Mat, file []byte, premultiplied bool) error {
	if file == nil {
		return nil
	}
	img, err := readHEIC(file)
	if err != nil {
		return fmt.Errorf("decode the transparency of HEIC: %w", err)
	}
	pix, err := mat.DataPtrUint8()
	if err != nil {
		return fmt.Errorf("reach the pixels: %w", err)
	}
	whitenBy(pix, image.Pt(mat.Cols(), mat.Rows()), img, premultiplied)
	return nil
}

// decodeAVIF decodes the main picture, or the first of a sequence. libavif
// leaves cutting and turning it to the caller. The caller closes the result.
func decodeAVIF(data []byte) (gocv.Mat, orientation, error) {
	info, err := heif.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil && !errors.Is(err, heif.ErrNoPicture) {
		return gocv.Mat{}, asStored, err
	}
	img, err := avif.Decode(bytes.NewReader(data))
	if err != nil {
		return gocv.Mat{}, asStored, fmt.Errorf("decode AVIF: %w", err)
	}
	pix, n := multiplied(img)
	if drawn := drawnOn(pix, n, info.Alpha, heif.Premultiplied(data)) || info.Alpha && blank(pix) && transparent(data); !drawn {
		return gocv.Mat{}, asStored, errNothingDecoded
	}
	mat, err := matOf(seen(img, info.Clean), info.Color)
	return mat, exifOf(info.Transforms), err
}

// seen is the part of a picture that people are shown, if that is not all of it.
func seen(img image.Image, clean image.Rectangle) image.Image {
	whole, ok := img.(interface {
		SubImage(r image.Rectangle) image.Image
	})
	if !ok || clean.Empty() || !clean.In(img.Bounds()) {
		return img
	}
	return whole.SubImage(clean)
}

// errNothingDecoded means that the AVIF library reports success, but has left
// the picture as it found it: it takes no notice of damaged coded pictures.
var errNothingDecoded = errors.New("decode AVIF: nothing was decoded")

// multiplied are the pixels of a picture of the AVIF library, and how many bytes each has.
func multiplied(img image.Image) (pix []byte, n int) {
	switch p := img.(type) {
	case *image.RGBA:
		return p.Pix, 4
	case *image.RGBA64:
		return p.Pix, 8
	}
	return nil, 4 // there are no others
}

// blank says whether nothing is in the place of pixels.
func blank(pix []byte) bool { return !slices.ContainsFunc(pix, func(v byte) bool { return v != 0 }) }

// transparent says whether all of a picture is transparent, since it is blank then, like one of
// which nothing was decoded. Its transparency is decoded as a picture of its own, which is opaque
// and black.
func transparent(data []byte) bool {
	file := heif.AlphaFile(data)
	if file == nil {
		return false
	}
	img, err := avif.Decode(bytes.NewReader(file))
	if err != nil {
		return false
	}
	pix, n := multiplied(img)
	black := slices.Concat(make([]byte, n-n/4), bytes.Repeat([]byte{255}, n/4))
	return bytes.Equal(pix, bytes.Repeat(black, len(pix)/n))
}

// drawnOn says whether pixels of n bytes, the last quarter of them alpha, have been
// decoded: then all are opaque, or at least one is visible if the file has
// transparency, and no colour is more than its alpha, with which the library multiplied it.
// Where the encoder did, it may be: loss comes after that.
func drawnOn(pix []byte, n int, alpha, premultiplied bool) bool {
	seen := !alpha
	for ; len(pix) >= n; pix = pix[n:] {
		a := pix[n-n/4 : n]
		if !alpha && a[len(a)-1] != 255 {
			return false
		}
		for c := 0; alpha && !premultiplied && c < n-n/4; c += n / 4 {
			if bytes.Compare(pix[c:c+n/4], a) > 0 {
				return false
			}
		}
		seen = seen || a[0]|a[len(a)-1] != 0
	}
	return seen
}

// exifOf is the one turn that comes to the same as the transforms.
func exifOf(transforms heif.Transforms) orientation {
	quarters, mirror := 0, false // a turn clockwise, after mirroring left and right
	for _, t := range transforms {
		switch t.Mirror {
		case heif.NoMirror:
			quarters -= t.Quarters
		case heif.LeftRight:
			quarters, mirror = -quarters, !mirror
		default:
			quarters, mirror = 2-quarters, !mirror
		}
	}
	quarters = (quarters%4 + 4) % 4
	if mirror {
		return []orientation{2, 7, 4, 5}[quarters]
	}
	return []orientation{1, 6, 3, 8}[quarters]
}

// matOf copies a decoded picture into a matrix. The caller closes it.
func matOf(img image.Image, color heif.Color) (gocv.Mat, error) {
	size := img.Bounds().Size()
	pix := make([]byte, size.X*size.Y*3)
	switch p := img.(type) {
	case *image.YCbCr:
		bgrOfYCbCr(p, color, pix)
	case *image.RGBA:
		bgrOfPremultiplied(p, pix)
	case *image.NRGBA:
		bgrOfStraight(p, pix)
	default:
		bgrOfAny(img, pix)
	}
	wrapped, err := gocv.NewMatFromBytes(size.Y, size.X, gocv.MatTypeCV8UC3, pix)
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("wrap the picture: %w", err)
	}
	defer closeMat(&wrapped)
	return wrapped.Clone(), nil // the memory of pix is Go's
}

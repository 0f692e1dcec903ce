//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"slices"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/jfif"
)

// decodeJPEG decodes a JPEG file into a frame of out.
func decodeJPEG(data []byte, src Source, out *Arena) (Found, error) {
	data, info, err := wholeJPEG(data, src.Limits)
	if err != nil {
		return Found{}, err
	}
	found, err := writeJPEG(data, info, src, out)
	if !info.Refined { // it has its end, but not all of its scans
		found.Notes = []preprocess.Note{preprocess.Incomplete}
	}
	return found, err
}

// writeJPEG decodes a whole JPEG file into a frame of out: at once, unless it is to be
// turned, shrunk or converted.
func writeJPEG(data []byte, info jfif.Info, src Source, out *Arena) (Found, error) {
	turn := readOrientation([]byte(info.EXIF), preprocess.TIFF)
	if info.Components != 4 && turn == asStored && max(info.Width, info.Height) <= src.Limits.Side {
		return jpegFrame(data, info, out)
	}
	mat, err := storedJPEG(data, info)
	if err != nil {
		return Found{}, err
	}
	return finish(mat, turn, false, src.Limits, out)
}

// jpegFrame decodes a JPEG file, as it is stored, into a frame of out.
func jpegFrame(data []byte, info jfif.Info, out *Arena) (Found, error) {
	err := writeFrame(info.Width, info.Height, 0, out, func(pix []byte) error {
		return decompress(data, info, inRGB, pix)
	})
	if err != nil {
		return Found{}, err
	}
	return Found{Kind: preprocess.Image, Width: info.Width, Height: info.Height}, nil
}

// storedJPEG decodes a JPEG file as it is stored. The caller closes the result.
func storedJPEG(data []byte, info jfif.Info) (gocv.Mat, error) {
	if info.Components == 4 {
		return decodeCMYK(data, info)
	}
	return jpegMat(data, info)
}

// wholeJPEG looks at a file's segments before anything is decoded: libjpeg fills
// what is missing of a truncated file with grey. Of a file that lacks just its
// end, the pixels may all be there, and it is returned with one.
func wholeJPEG(data []byte, limits preprocess.Limits) ([]byte, jfif.Info, error) {
	info, err := jfif.Scan(data)
	if errors.Is(err, jfif.ErrTruncated) {
		data, err = withEnd(data, info)
	}
	if err != nil {
		return nil, info, err
	}
	if info.Width == 0 || info.Height == 0 {
		return nil, info, errors.New("the file does not say how large the picture is")
	}
	return data, info, checkPixels(info.Width, info.Height, limits)
}

// missingEnd bounds how much may be missing of the coded pixels: so many zeros
// stand for a dozen blocks at most, in the last corner.
const missingEnd = 256

// withEnd returns a file without an end marker with one, if all but a few of the
// pixels are there. Zeros at its end are none: a copy that was broken off may have
// its full length, and they would pass for plain blocks without end.
func withEnd(data []byte, info jfif.Info) ([]byte, error) {
	ended := endedBy(bytes.TrimRight(data, "\x00\xff")) // or half a marker
	if err := checkCoded(ended, info); err != nil {
		return nil, err
	}
	return ended, nil
}

// endedBy is a file up to its last coded pixels with zeros for those that may be
// missing, and an end marker.
func endedBy(data []byte) []byte {
	return append(slices.Concat(data, make([]byte, missingEnd)), 0xff, 0xd9)
}

// checkCoded says whether the pixels of a file that endedBy made are there: Go's
// decoder, unlike OpenCV's, fails where they are not.
func checkCoded(ended []byte, info jfif.Info) error {
	if !info.Refined {
		return jfif.ErrTruncated
	}
	if _, err := decodeByGo(ended, info); err != nil {
		return fmt.Errorf("%w: %w", jfif.ErrTruncated, err)
	}
	return nil
}

// checkFilled is checkCoded for a file with an end marker before which TurboJPEG found
// too little and filled in grey. What Go's decoder does not know passes.
func checkFilled(data []byte, info jfif.Info) error {
	err := checkCoded(endedBy(data[:info.End]), info)
	if _, unknown := errors.AsType[jpeg.UnsupportedError](err); unknown {
		return nil
	}
	return err
}

// checkOdd looks for what TurboJPEG may have filled in where it warns of something else:
// it tells of nothing but what it finds first. What is odd but was decoded all the same passes.
func checkOdd(data []byte, info jfif.Info, warning string) error {
	if _, err := decodeByGo(endedBy(data[:codedEnd(data, info, warning)]), info); ranOut(err) {
		return fmt.Errorf("%w: %w", jfif.ErrTruncated, err)
	}
	return nil
}

// codedEnd is where the coded pixels end. If bytes are left over behind them, zeros before
// those may be in the place of others, which a plain block took more of.
func codedEnd(data []byte, info jfif.Info, warning string) int {
	var left int
	_, err := fmt.Sscanf(warning, "Corrupt JPEG data: %d extraneous bytes before marker 0xd9", &left)
	if err != nil || left < 0 || left > info.End {
		return info.End
	}
	return len(bytes.TrimRight(data[:info.End-left], "\x00"))
}

// ranOut says whether Go's decoder came upon a marker, or the end, where there should be
// coded pixels. It has no other way to tell this from what it finds wrong.
func ranOut(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, jpeg.FormatError("missing 0xff00 sequence")) ||
		errors.Is(err, jpeg.FormatError("short Huffman data")) || errors.Is(err, jpeg.FormatError("bad RST marker"))
}

// decodeByGo decodes a file with Go's decoder, which insists on Adobe's mark
// where there are four inks.
func decodeByGo(data []byte, info jfif.Info) (image.Image, error) {
	if info.Components == 4 && !info.Adobe {
		data = jfif.MarkAdobe(data)
	}
	return jpeg.Decode(bytes.NewReader(data)) //nolint:wrapcheck // the callers say what for
}

// decodeCMYK decodes four inks. Files that an Adobe program has marked hold
// them inverted, others plain; OpenCV takes all for inverted. Go's decoder knows
// few ways of halving them.
func decodeCMYK(data []byte, info jfif.Info) (gocv.Mat, error) {
	inked := gocv.NewMatWithSize(info.Height, info.Width, gocv.MatTypeCV8UC4)
	defer closeMat(&inked)
	stored, err := inked.DataPtrUint8()
	if err == nil {
		err = decompress(data, info, inks, stored)
	}
	if err != nil {
		return gocv.Mat{}, fmt.Errorf("decode CMYK: %w", err)
	}
	mat := gocv.NewMatWithSize(info.Height, info.Width, gocv.MatTypeCV8UC3)
	pix, err := mat.DataPtrUint8()
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, fmt.Errorf("reach the pixels: %w", err)
	}
	bgrOfInks(stored, info.Adobe, pix)
	return mat, nil
}

// bgrOfInks converts the simple way, without a profile, as browsers do.
func bgrOfInks(stored []byte, inverted bool, out []byte) {
	flip := byte(0)
	if inverted {
		flip = 255
	}
	for ; len(stored) >= 4; stored, out = stored[4:], out[3:] {
		s := stored[:4:4]
		k := 255 - int(s[3]^flip)
		of := func(ink byte) byte { return byte(((255-int(ink^flip))*k + 127) / 255) }
		out[0], out[1], out[2] = of(s[2]), of(s[1]), of(s[0])
	}
}

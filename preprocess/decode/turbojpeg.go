//go:build gocv_specific_modules

package decode

/*
#cgo pkg-config: libturbojpeg
#include <turbojpeg.h>
*/
import "C"

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"gocv.io/x/gocv"

	"deepfaked/preprocess/internal/jfif"
)

// The order of a pixel's bytes.
const (
	inRGB = C.TJPF_RGB
	inBGR = C.TJPF_BGR
	inks  = C.TJPF_CMYK // as they are stored: inverted where Adobe's mark says so
)

// decompress decodes a JPEG file into pix, which has three bytes for each pixel, or
// four for inks, rows top to bottom without padding. Files of four components have
// inks, others none. It does what OpenCV does, pixel for pixel, but for its copies:
// OpenCV 4.6 decodes into a row, swaps its colours byte by byte into a matrix and has
// them swapped back.
func decompress(data []byte, info jfif.Info, order C.int, pix []byte) error {
	width := 3 * info.Width
	if order == inks {
		width = 4 * info.Width
	}
	if len(pix) < width*info.Height || len(pix) == 0 || len(data) == 0 {
		return fmt.Errorf("decompress a JPEG of %d by %d pixels into %d bytes", info.Width, info.Height, len(pix))
	}
	handle := C.tjInitDecompress()
	if handle == nil {
		return fmt.Errorf("start TurboJPEG: %w", errMemory)
	}
	defer C.tjDestroy(handle)
	// TurboJPEG keeps what it warns of for the thread, not in the handle.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	failed := C.tjDecompress2(handle, (*C.uchar)(unsafe.Pointer(&data[0])), C.ulong(len(data)),
		(*C.uchar)(unsafe.Pointer(&pix[0])), C.int(info.Width), C.int(width), C.int(info.Height), order, C.TJFLAG_LIMITSCANS)
	if failed == 0 {
		return nil
	}
	said := C.GoString(C.tjGetErrorStr2(handle))
	switch {
	case C.tjGetErrorCode(handle) == C.TJERR_FATAL:
		return fmt.Errorf("decode with TurboJPEG: %s", said)
	case info.End > 0 && endsEarly(said):
		return checkFilled(data, info)
	case info.End > 0:
		return checkOdd(data, info, said)
	}
	return nil // what lacks its end has been checked before
}

// endsEarly says whether a warning is of coded pixels that end before the picture does.
func endsEarly(warning string) bool {
	return strings.Contains(warning, "premature end") || strings.Contains(warning, "0xd9 instead of RST")
}

// jpegMat decodes a JPEG file into blue, green and red. The caller closes the
// result.
func jpegMat(data []byte, info jfif.Info) (gocv.Mat, error) {
	mat := gocv.NewMatWithSize(info.Height, info.Width, gocv.MatTypeCV8UC3)
	pix, err := mat.DataPtrUint8()
	if err == nil {
		err = decompress(data, info, inBGR, pix)
	}
	if err != nil {
		closeMat(&mat)
		return gocv.Mat{}, err
	}
	return mat, nil
}

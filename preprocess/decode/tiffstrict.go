//go:build gocv_specific_modules

package decode

/*
#cgo pkg-config: zlib
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <zlib.h>

typedef int (*readStrip)(void *, uint32_t, uint32_t *, int);
typedef int (*readTile)(void *, uint32_t, uint32_t, uint32_t *, int);

// TIFFReadRGBAStrip and TIFFReadRGBATile stand in front of libtiff's, through which OpenCV
// reads samples of 8 bits and less: those leave black what can't be decoded, and report success.
int TIFFReadRGBAStrip(void *tiff, uint32_t row, uint32_t *raster) {
	static readStrip real;
	if (!real)
		real = (readStrip)dlsym(RTLD_DEFAULT, "TIFFReadRGBAStripExt");
	return real ? real(tiff, row, raster, 1) : 0;
}

int TIFFReadRGBATile(void *tiff, uint32_t column, uint32_t row, uint32_t *raster) {
	static readTile real;
	if (!real)
		real = (readTile)dlsym(RTLD_DEFAULT, "TIFFReadRGBATileExt");
	return real ? real(tiff, column, row, raster, 1) : 0;
}

typedef int (*inflateAll)(void *, const void *, size_t, void *, size_t, size_t *);

// libdeflate_zlib_decompress stands in front of libdeflate's, by which libtiff unpacks strips
// and tiles. Some writers fill up the last strip, so that it holds more than there is room for:
// libdeflate stops before what does not fit as a whole, libtiff calls that success, and what
// the memory held before stands for the rest. zlib goes on until the room is full.
int libdeflate_zlib_decompress(void *d, const void *in, size_t n, void *out, size_t room, size_t *filled) {
	enum { badData = 1, insufficientSpace = 3 };
	static inflateAll real;
	if (!real)
		real = (inflateAll)dlsym(RTLD_NEXT, "libdeflate_zlib_decompress");
	int r = real ? real(d, in, n, out, room, filled) : badData;
	if (r != insufficientSpace)
		return r;
	uLongf got = room;
	uLong taken = n;
	uncompress2(out, &got, in, &taken);
	return got == room ? r : badData;
}
*/
import "C"

import (
	"errors"
	"slices"

	"deepfaked/preprocess"
	"deepfaked/preprocess/internal/jfif"
)

// Bounds of the JPEG pictures in a page: how many times what they should have they may have,
// as strips that lie over each other do.
const (
	stripPixels = 4  // times the limit: a plane for each colour
	stripBytes  = 16 // times the file: each brings the page's tables
)

// errStrips means that strips or tiles lie nowhere, beyond the file, or over each other.
var errStrips = errors.New("the strips or tiles are not all in the file")

// checkStrips refuses a page of which strips or tiles are left out, as GDAL leaves out what has
// no data, where libtiff does not: it takes the start of the file for samples of 16 bits that
// are not compressed. So it does one of JPEG pictures, one for each strip or tile, of which
// pixels are missing: to libtiff that is a warning, and grey stands for them.
func checkStrips(data []byte, limits preprocess.Limits) error {
	const none, old, plain = 1, 6, 7 // ways to store them; in the old one of JPEG, parts of a picture are anywhere
	page := firstPage(data)
	offsets, counts := page.numbers(273), page.numbers(279)
	if tiles := page.numbers(324); tiles.Len() > 0 {
		offsets, counts = tiles, page.numbers(325)
	}
	way := page.short(259, 1)
	switch way {
	case none:
		return checkPlaces(offsets)
	case old, plain:
	default:
		return nil
	}
	tables := page.jpegTables()
	pixels, room := stripPixels*limits.Pixels, stripBytes*len(data)
	for i := range min(offsets.Len(), counts.Len()) {
		from, length := offsets.At(i), counts.At(i)
		if from+length > len(data) {
			return errStrips
		}
		if way == old || length < 2 {
			continue
		}
		strip := data[from : from+length]
		if len(tables) > 0 {
			strip = slices.Concat(tables, strip[2:]) // behind its start marker
		}
		n, err := checkStrip(strip, limits)
		pixels, room = pixels-n, room-len(strip)
		if err != nil {
			return err
		}
		if pixels < 0 || room < 0 {
			return errStrips
		}
	}
	return nil
}

// checkPlaces says whether all strips or tiles are somewhere: the file begins with its header.
func checkPlaces(offsets tiffNumbers) error {
	for i := range offsets.Len() {
		if offsets.At(i) == 0 {
			return errStrips
		}
	}
	return nil
}

// checkStrip says whether a JPEG picture has all of its pixels, and how many. What else may
// be wrong with it is for libtiff to find.
func checkStrip(data []byte, limits preprocess.Limits) (pixels int64, err error) {
	data, info, err := wholeJPEG(data, limits)
	if err == nil {
		mat, decodeErr := storedJPEG(data, info)
		if err = decodeErr; err == nil {
			closeMat(&mat)
		}
	}
	if !errors.Is(err, jfif.ErrTruncated) && !isMemory(err) {
		err = nil
	}
	return int64(info.Width) * int64(info.Height), err
}

package heif

import (
	"bytes"
	"io"
)

// IsPicture says whether a file describes a main picture and has no track of a film or of sound, so
// that it is nothing but a picture, or a sequence of them, whatever its major brand is.
func IsPicture(f io.ReaderAt, size int64) bool {
	_, err := Read(f, size)
	return err == nil && !hasFilm(f, size)
}

// hasFilm says whether a file has tracks of films or of sound. One whose tracks take too long to be read has.
func hasFilm(f io.ReaderAt, size int64) bool {
	at := int64(0)
	for range maxBoxes {
		var head [16]byte
		n, _ := f.ReadAt(head[:min(16, max(0, size-at))], at)
		if n < 8 {
			return false
		}
		kind, header, length := boxHeader(head[:n], size-at)
		if length < int64(header) || length > size-at {
			return false
		}
		if kind == "moov" {
			return length > maxMeta || isFilm(f, at, int(length))
		}
		at += length
	}
	return true
}

// isFilm says whether one of the tracks that a moov box describes is of a film or of sound: ISO/IEC
// 14496-12, 8.4.3.
func isFilm(f io.ReaderAt, at int64, length int) bool {
	moov := make([]byte, length)
	if _, err := f.ReadAt(moov, at); err != nil {
		return true
	}
	const before = 8 // version, flags and something older
	for {
		_, rest, found := bytes.Cut(moov, []byte("hdlr"))
		if !found || len(rest) < before {
			return false
		}
		if moov = rest[before:]; bytes.HasPrefix(moov, []byte("vide")) || bytes.HasPrefix(moov, []byte("soun")) {
			return true
		}
	}
}

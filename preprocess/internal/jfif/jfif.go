// Package jfif walks the segments of a JPEG file without decoding it.
package jfif

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
)

// Info is what the segments say.
type Info struct {
	Components int    // 1 is grey, 3 colour, 4 inks
	Width      int    // pixels, as stored
	Height     int    // pixels, as stored; 0 where only a later segment says it
	Adobe      bool   // whether an Adobe segment says how colours are coded
	Refined    bool   // whether the scans begun so far bring every coefficient to its last bit
	EXIF       string // a TIFF file of its own; empty where there is none
	End        int    // where the end marker stands; 0 where there is none
}

// exifMark begins a segment of EXIF data.
const exifMark = "Exif\x00\x00"

// ErrTruncated means that the file has no end marker behind its pixels.
var ErrTruncated = errors.New("jfif: the file is truncated")

// errDamaged means that the segments make no sense.
var errDamaged = errors.New("jfif: the segments are damaged")

// Scan walks to the end of the picture.
func Scan(data []byte) (Info, error) {
	var info Info
	var done progress
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 {
		return info, errDamaged
	}
	for at := 2; ; {
		for at+2 <= len(data) && (data[at] != 0xff || data[at+1] == 0xff || data[at+1] == 0) {
			at++ // padding, or stray bytes, which libjpeg skips too
		}
		if at+2 > len(data) {
			return info, ErrTruncated
		}
		marker := data[at+1]
		at += 2
		if marker == 0xd9 {
			info.End = at - 2
			return info.finish()
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd7 {
			continue
		}
		if at+2 > len(data) {
			return info, ErrTruncated
		}
		length := int(binary.BigEndian.Uint16(data[at:]))
		if length < 2 {
			return info, errDamaged
		}
		if at+length > len(data) {
			return info, ErrTruncated
		}
		info.take(marker, data[at+2:at+length], &done)
		at += length
		if marker == 0xda {
			at += coded(data[at:])
		}
	}
}

// finish says whether there was a picture at all.
func (i Info) finish() (Info, error) {
	if i.Components == 0 {
		return i, errDamaged
	}
	return i, nil
}

// take looks at one segment.
func (i *Info) take(marker byte, body []byte, p *progress) {
	switch {
	case marker == 0xee && bytes.HasPrefix(body, []byte("Adobe")) && len(body) >= 12:
		i.Adobe = true
	case marker == 0xe1 && bytes.HasPrefix(body, []byte(exifMark)) && i.EXIF == "":
		i.EXIF = string(body[len(exifMark):])
	case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc && len(body) >= 6:
		i.Components = int(body[5])
		i.Height, i.Width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
		*p = newProgress(marker, body[6:])
	case marker == 0xda:
		p.scan(body)
		i.Refined = p.refined()
	}
}

// coded is the length of the coded pixels at the beginning of b: up to the next
// marker that is neither a stuffed byte nor a restart.
func coded(b []byte) int {
	for at := 0; ; {
		next := bytes.IndexByte(b[at:], 0xff)
		if next < 0 || at+next+1 >= len(b) {
			return len(b)
		}
		at += next
		if m := b[at+1]; m != 0 && m != 0xff && (m < 0xd0 || m > 0xd7) {
			return at
		}
		at++
	}
}

// MarkAdobe returns the file with an Adobe segment that says that its colours
// are stored as they are.
func MarkAdobe(data []byte) []byte {
	segment := []byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00")
	return slices.Concat(data[:2], segment, data[2:])
}

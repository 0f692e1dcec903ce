package preprocess

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// pngOf declares a picture of w by h pixels.
func pngOf(w, h uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), w)
	return append(binary.BigEndian.AppendUint32(b, h), 8, 2, 0, 0, 0)
}

// tiffOf has a first directory of so many entries, of which two say that it has 10 by 10 pixels.
func tiffOf(entries uint16) []byte {
	b := binary.LittleEndian.AppendUint16([]byte("II*\x00\x08\x00\x00\x00"), entries)
	b = append(b, "\x00\x01\x03\x00\x01\x00\x00\x00\x0a\x00\x00\x00\x01\x01\x03\x00\x01\x00\x00\x00\x0a\x00\x00\x00"...)
	return append(b, make([]byte, 12*int(entries))...)
}

// The server itself looks at the beginning of a file, before it is given a place or a decoder:
// what is refused there, and with which code, goes by the contract, and nothing else passes.
func TestWhatABeginningIsRefusedFor(t *testing.T) {
	t.Parallel()
	const frame = "\xff\xc0\x00\x0b\x08\x00\x0a\x00\x0a\x01\x01\x11\x00"
	mp4, wav := []byte("\x00\x00\x00\x10ftypisom\x00\x00\x00\x00"), []byte("RIFF\x24\x00\x00\x00WAVEfmt ")
	for name, c := range map[string]struct {
		data     []byte
		declared Kind
		want     Code // empty: it passes
	}{
		"as many pixels as may be":         {pngOf(10, 10), Image, ""},
		"a row more":                       {pngOf(10, 11), Image, PayloadTooLarge},
		"as many whole rows as may be":     {pngOf(3, 33), "", ""},
		"a row that has no room":           {pngOf(3, 34), "", PayloadTooLarge},
		"no width":                         {pngOf(0, 10), "", UnsupportedMediaType},
		"no height":                        {pngOf(10, 0), "", UnsupportedMediaType},
		"too large and of another kind":    {pngOf(100, 100), Audio, PayloadTooLarge},
		"damaged":                          {pngOf(10, 10)[:20], "", UnsupportedMediaType},
		"damaged and of another kind":      {pngOf(10, 10)[:20], Audio, ContentTypeMismatch},
		"a film declared a picture":        {mp4, Image, ContentTypeMismatch},
		"a film":                           {mp4, Video, ""},
		"a film that may be sound":         {mp4, Audio, ""},
		"a sound declared a film":          {wav, Video, ContentTypeMismatch},
		"nothing":                          {nil, Image, EmptyFile},
		"a BMP of negative width":          {[]byte("BM____________\x28\x00\x00\x00\xf6\xff\xff\xff\x0a\x00\x00\x00\x01\x00\x18\x00"), "", UnsupportedMediaType},
		"a TIFF of many entries":           {tiffOf(maxEntries), "", ""},
		"a TIFF of too many":               {tiffOf(maxEntries + 1), "", UnsupportedMediaType},
		"a JPEG":                           {[]byte("\xff\xd8\xff\xe0\x00\x04JF" + frame), "", ""},
		"a JPEG segment shorter than none": {[]byte("\xff\xd8\xff\xe0\x00\x01" + frame), "", UnsupportedMediaType},
		"a JPEG of conditions":             {[]byte("\xff\xd8\xff\xcc\x00\x08\xff\xff\xff\xff\xff\xff" + frame), "", ""},
		"a JPEG of the reserved kind":      {[]byte("\xff\xd8\xff\xc8\x00\x08\xff\xff\xff\xff\xff\xff" + frame), "", ""},
		"a WebP":                           {[]byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x09\x00\x00"), "", ""},
		"a WebP shorter than it says":      {[]byte("RIFF\x17\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x09\x00\x00"), "", UnsupportedMediaType},
	} {
		limits := DefaultLimits()
		limits.Pixels = 100
		_, err := inspect(bytes.NewReader(slices.Clone(c.data)), int64(len(c.data)), c.declared, limits)
		var fault *Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &fault) || fault.Code != c.want):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

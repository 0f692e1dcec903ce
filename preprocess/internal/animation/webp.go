package animation

import (
	"bytes"
	"encoding/binary"
	"image"
	"time"
)

// WebP takes an animated WebP file apart. It returns nil for one that is not
// animated.
func WebP(data []byte) (*Animation, error) {
	if len(data) < 20 || string(data[:4]) != "RIFF" || string(data[8:12]) != "WEBP" {
		return nil, ErrDamaged
	}
	size := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if size < 12 || size > int64(len(data)) {
		return nil, ErrDamaged
	}
	var a *Animation
	rest, err := riffChunks(data[12:size], func(kind string, body []byte) error {
		switch {
		case kind == "VP8X" && len(body) >= 10 && body[0]&2 != 0:
			a = &Animation{Width: 1 + uint24(body[4:]), Height: 1 + uint24(body[7:])}
		case kind == "ANMF" && a != nil:
			return a.addWebP(body)
		}
		return nil
	})
	if err != nil || a == nil {
		return nil, err
	}
	a.Incomplete = len(bytes.TrimLeft(rest, "\x00")) > 0
	return a, a.check()
}

// riffChunks calls f for each chunk and returns what is left behind them.
func riffChunks(b []byte, f func(kind string, body []byte) error) ([]byte, error) {
	for len(b) >= 8 {
		length := int64(binary.LittleEndian.Uint32(b[4:]))
		if length > int64(len(b)-8) {
			return nil, ErrDamaged
		}
		if err := f(string(b[:4]), b[8:8+length]); err != nil {
			return nil, err
		}
		b = b[min(int64(len(b)), 8+length+length&1):]
	}
	return b, nil
}

// uint24 reads three bytes.
func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// addWebP takes an ANMF chunk in.
func (a *Animation) addWebP(body []byte) error {
	if len(body) < 24 {
		return ErrDamaged
	}
	x, y := 2*uint24(body), 2*uint24(body[3:])
	w, h := 1+uint24(body[6:]), 1+uint24(body[9:])
	flags, inner := body[15], body[16:]
	kind := string(inner[:4])
	if cw, ch := codedSize(inner); kind != "ALPH" && (cw != w || ch != h) {
		return ErrDamaged // all of what is coded would be decoded, whatever the limit
	}
	f := Frame{
		Rect:  image.Rect(x, y, x+w, y+h),
		Delay: time.Duration(uint24(body[12:])) * time.Millisecond,
		Over:  flags&2 == 0,
		Alpha: kind != "VP8 ",
		still: func() []byte { return webpStill(inner, w, h) },
	}
	if flags&1 != 0 {
		f.Disposal = Clear
	}
	return a.add(f)
}

// codedSize is the size that a frame's picture itself tells, where its chunk comes first, else 0: libwebp takes what
// is no chunk for a picture without one. Behind a chunk of transparency it compares the size with that of the
// file that webpStill makes.
func codedSize(chunks []byte) (w, h int) {
	const chunk, lossy, lossless = 8, 10, 5 // lengths of headers
	switch kind := string(chunks[:4]); {
	case kind == "VP8 " && len(chunks) >= chunk+lossy: // RFC 6386, section 9.1
		return int(binary.LittleEndian.Uint16(chunks[14:]) & 0x3fff), int(binary.LittleEndian.Uint16(chunks[16:]) & 0x3fff)
	case kind == "VP8L" && len(chunks) >= chunk+lossless:
		bits := binary.LittleEndian.Uint32(chunks[9:])
		return 1 + int(bits&0x3fff), 1 + int(bits>>14&0x3fff)
	}
	return 0, 0
}

// webpStill is a WebP file with the chunks of one frame.
func webpStill(chunks []byte, w, h int) []byte {
	extended := make([]byte, 10)
	if string(chunks[:4]) == "ALPH" {
		extended[0] = 0x10
	}
	put := func(at, n int) { extended[at], extended[at+1], extended[at+2] = byte(n), byte(n>>8), byte(n>>16) }
	put(4, w-1)
	put(7, h-1)
	body := []byte("WEBP")
	if extended[0] != 0 {
		body = append(body, "VP8X\x0a\x00\x00\x00"...)
		body = append(body, extended...)
	}
	body = append(body, chunks...)
	out := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))) //nolint:gosec // read from 32 bits
	return append(out, body...)
}

// LosslessWebP says whether the picture of a still WebP file, or a frame of an
// animated one, has been coded without loss.
func LosslessWebP(data []byte) bool {
	found := false
	if len(data) > 12 {
		_, _ = riffChunks(data[12:], func(kind string, _ []byte) error {
			found = found || kind == "VP8L"
			return nil
		})
	}
	return found
}

// EXIF is the EXIF data of a WebP file, a TIFF file of its own, or nil. Some
// programs put JPEG's mark before it.
func EXIF(data []byte) []byte {
	var found []byte
	if len(data) > 12 {
		_, _ = riffChunks(data[12:], func(kind string, body []byte) error {
			if kind == "EXIF" && found == nil {
				found = bytes.TrimPrefix(body, []byte("Exif\x00\x00"))
			}
			return nil
		})
	}
	return found
}

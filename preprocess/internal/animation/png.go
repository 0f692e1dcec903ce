package animation

import (
	"encoding/binary"
	"hash/crc32"
	"image"
	"time"
)

// pngMagic begins every PNG file.
const pngMagic = "\x89PNG\r\n\x1a\n"

// PNG takes an animated PNG file apart. It returns nil for one that is not
// animated, or says that it is but has no frames.
func PNG(data []byte) (*Animation, error) {
	if len(data) < len(pngMagic) || string(data[:len(pngMagic)]) != pngMagic {
		return nil, ErrDamaged
	}
	w := &pngWalker{}
	w.result.Incomplete = true // until it has its end
	for rest := data[len(pngMagic):]; len(rest) > 0; {
		if len(rest) < 12 {
			return nil, ErrDamaged
		}
		length := int64(binary.BigEndian.Uint32(rest))
		if length > int64(len(rest)-12) {
			return nil, ErrDamaged
		}
		kind, body := string(rest[4:8]), rest[8:8+length]
		rest = rest[12+length:]
		if kind == "IEND" {
			w.result.Incomplete = false
			break
		}
		if kind == "IDAT" && !w.animated {
			return nil, nil //nolint:nilnil // says so
		}
		if err := w.chunk(kind, body); err != nil {
			return nil, err
		}
	}
	if !w.animated {
		return nil, ErrDamaged
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	if len(w.result.Frames) == 0 && !w.later {
		return nil, nil //nolint:nilnil // only a picture for those who cannot animate
	}
	w.result.Incomplete = w.result.Incomplete || len(w.result.Frames) < w.frames
	return &w.result, w.result.check()
}

// pngWalker collects the chunks of an animated PNG.
type pngWalker struct {
	result   Animation
	animated bool
	frames   int  // as many as there should be
	later    bool // there are pixels of a frame behind the first
	header   []byte
	shared   [][2]string // chunks before the pixels that each picture needs, type and body
	control  []byte      // the frame that is being collected
	pixels   [][]byte
}

// longestShared bounds what is copied for each frame, by what these chunks may be.
var longestShared = map[string]int{"PLTE": 3 * 256, "tRNS": 256, "gAMA": 4, "sBIT": 4}

// chunk takes one chunk in.
func (w *pngWalker) chunk(kind string, body []byte) error {
	switch kind {
	case "IHDR":
		if len(body) != 13 {
			return ErrDamaged
		}
		w.header = body
		w.result.Width = int(binary.BigEndian.Uint32(body) & 0x7fffffff)
		w.result.Height = int(binary.BigEndian.Uint32(body[4:]) & 0x7fffffff)
	case "acTL":
		if len(body) >= 4 {
			w.frames = int(binary.BigEndian.Uint32(body))
		}
		w.animated = w.frames > 0
	case "PLTE", "tRNS", "gAMA", "sBIT":
		if len(w.shared) < 16 && len(body) <= longestShared[kind] {
			w.shared = append(w.shared, [2]string{kind, string(body)})
		}
	case "fcTL":
		if err := w.finish(); err != nil {
			return err
		}
		if len(body) != 26 || w.header == nil {
			return ErrDamaged
		}
		w.control = body
	case "IDAT":
		if w.control != nil { // otherwise it is a picture for those who cannot animate
			w.pixels = append(w.pixels, body)
		}
	case "fdAT":
		if len(body) < 4 {
			return ErrDamaged
		}
		w.later = true
		w.pixels = append(w.pixels, body[4:])
	}
	return nil
}

// finish adds the frame that was being collected.
func (w *pngWalker) finish() error {
	control, pixels := w.control, w.pixels
	w.control, w.pixels = nil, nil
	if control == nil {
		return nil
	}
	if len(pixels) == 0 {
		return ErrDamaged
	}
	number := func(at int) int { return int(binary.BigEndian.Uint32(control[at:]) & 0x7fffffff) }
	width, height, x, y := number(4), number(8), number(12), number(16)
	header, shared := w.header, w.shared
	return w.result.add(Frame{
		Rect:     image.Rect(x, y, x+width, y+height),
		Delay:    pngDelay(binary.BigEndian.Uint16(control[20:]), binary.BigEndian.Uint16(control[22:])),
		Disposal: pngDisposal(control[24]),
		Over:     control[25] == 1,
		Alpha:    true,
		still:    func() []byte { return pngStill(header, control, shared, pixels) },
	})
}

// pngDelay is a fraction of a second; the denominator 0 stands for 100.
func pngDelay(numerator, denominator uint16) time.Duration {
	if denominator == 0 {
		denominator = 100
	}
	return time.Duration(numerator) * time.Second / time.Duration(denominator)
}

// pngDisposal translates the number in the file.
func pngDisposal(n byte) Disposal {
	switch n {
	case 1:
		return Clear
	case 2:
		return Restore
	}
	return Keep
}

// pngStill is a PNG file with one picture that fills it.
func pngStill(header, control []byte, shared [][2]string, pixels [][]byte) []byte {
	first := append(append([]byte{}, control[4:12]...), header[8:]...)
	out := appendChunk([]byte(pngMagic), "IHDR", first)
	for _, c := range shared {
		out = appendChunk(out, c[0], []byte(c[1]))
	}
	for _, p := range pixels {
		out = appendChunk(out, "IDAT", p)
	}
	return appendChunk(out, "IEND", nil)
}

// appendChunk appends a chunk with its length and checksum.
func appendChunk(out []byte, kind string, body []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(body))) //nolint:gosec // read from 32 bits
	start := len(out)
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}

package animation

import (
	"bytes"
	"encoding/binary"
	"image"
	"slices"
	"time"
)

// GIF takes a GIF file apart. It may end without a trailer, as browsers let it,
// but not within a frame.
func GIF(data []byte) (*Animation, error) {
	r := &gifReader{data: data}
	if err := r.header(); err != nil {
		return nil, err
	}
	for {
		kind, ok := r.byte()
		if !ok {
			return r.finish()
		}
		var err error
		switch kind {
		case 0x21:
			ok = r.extension()
		case 0x2c:
			err = r.frame()
		case 0x3b:
			return r.finish()
		default:
			ok = false
		}
		if err != nil {
			return nil, err
		}
		if !ok { // browsers end there
			r.result.Incomplete = kind != 0 || !r.ends()
			return r.finish()
		}
	}
}

// ends says whether nothing but zeros comes before the end, as is common.
func (r *gifReader) ends() bool {
	rest := bytes.TrimLeft(r.data[r.at:], "\x00")
	return len(rest) == 0 || rest[0] == 0x3b
}

// finish returns the frames if there are any, at a bearable cost.
func (r *gifReader) finish() (*Animation, error) {
	if err := r.result.check(); err != nil {
		return nil, err
	}
	return &r.result, nil
}

// gifReader walks the blocks of a GIF file.
type gifReader struct {
	data    []byte
	at      int
	palette []byte // the global one
	flags   byte   // of the screen: whether there is a palette, and its size
	control []byte // the graphic control extension of the next frame
	left    int    // frames of which nothing shows
	result  Animation
}

// byte takes one byte.
func (r *gifReader) byte() (byte, bool) {
	b, ok := r.take(1)
	if !ok {
		return 0, false
	}
	return b[0], true
}

// take takes n bytes.
func (r *gifReader) take(n int) ([]byte, bool) {
	if n < 0 || n > len(r.data)-r.at {
		return nil, false
	}
	r.at += n
	return r.data[r.at-n : r.at : r.at], true
}

// paletteSize is the length of the palette that flags announce.
func paletteSize(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// longestPalette is the length of a palette of 256 colours.
const longestPalette = 3 * 256

// header reads up to the global palette.
func (r *gifReader) header() error {
	head, ok := r.take(13)
	if !ok {
		return ErrDamaged
	}
	r.result.Width = int(binary.LittleEndian.Uint16(head[6:]))
	r.result.Height = int(binary.LittleEndian.Uint16(head[8:]))
	r.flags = head[10]
	if r.palette, ok = r.take(paletteSize(r.flags)); !ok {
		return ErrDamaged
	}
	return nil
}

// blocks skips blocks up to the empty one that ends them.
func (r *gifReader) blocks() bool {
	for {
		n, ok := r.byte()
		if !ok {
			return false
		}
		if n == 0 {
			return true
		}
		if _, ok := r.take(int(n)); !ok {
			return false
		}
	}
}

// extension remembers a graphic control extension and skips the others. It is false
// where one is cut off.
func (r *gifReader) extension() bool {
	label, ok := r.byte()
	start := r.at
	if !ok || !r.blocks() {
		return false
	}
	if block := r.data[start:r.at]; label == 0xf9 && len(block) == 6 && block[0] == 4 {
		r.control = block
	}
	return true
}

// frame takes one picture.
func (r *gifReader) frame() error {
	start := r.at
	descriptor, ok := r.take(9)
	if !ok {
		return ErrDamaged
	}
	x, y := int(binary.LittleEndian.Uint16(descriptor)), int(binary.LittleEndian.Uint16(descriptor[2:]))
	w, h := int(binary.LittleEndian.Uint16(descriptor[4:])), int(binary.LittleEndian.Uint16(descriptor[6:]))
	if _, ok = r.take(paletteSize(descriptor[8])); !ok {
		return ErrDamaged
	}
	if _, ok = r.take(1); !ok || !r.blocks() { // the code size, then the pixels
		return ErrDamaged
	}
	body, control, flags, palette := r.data[start:r.at], r.control, r.flags, r.palette
	r.control = nil
	f := Frame{Extent: image.Rect(x, y, x+w, y+h), Over: true}
	f.Rect = f.Extent.Intersect(r.screen(f.Extent))
	if control != nil {
		f.Delay = time.Duration(binary.LittleEndian.Uint16(control[2:])) * 10 * time.Millisecond
		f.Alpha = control[1]&1 != 0
		f.Disposal = gifDisposal(control[1] >> 2 & 7)
	}
	f.still = func() []byte { return gifStill(body, control, flags, palette, w, h) }
	if len(r.result.Frames) > 0 && f.Rect.Empty() {
		return r.unseen(f)
	}
	return r.result.add(f)
}

// unseen leaves a frame out of which nothing shows: what was there stays for as long.
func (r *gifReader) unseen(f Frame) error {
	if r.left++; r.left > MaxFrames {
		return ErrTooLarge
	}
	r.result.Frames[len(r.result.Frames)-1].Delay += named(f.Delay)
	return nil
}

// screen is what is shown, which the first frame enlarges where it does not fit. Later
// ones are cut, as in browsers.
func (r *gifReader) screen(frame image.Rectangle) image.Rectangle {
	a := &r.result
	if len(a.Frames) == 0 {
		a.Width, a.Height = max(a.Width, frame.Max.X), max(a.Height, frame.Max.Y)
	}
	return image.Rect(0, 0, a.Width, a.Height)
}

// gifDisposal translates the number in the file.
func gifDisposal(n byte) Disposal {
	switch n {
	case 2:
		return Clear
	case 3:
		return Restore
	}
	return Keep
}

// gifStill is a GIF file with one picture that fills it. Its palette, whether of its own
// or of all frames, is as long as can be: pixels may be beyond a shorter one.
func gifStill(body, control []byte, flags byte, palette []byte, w, h int) []byte {
	if own := paletteSize(body[8]); own > 0 {
		flags, palette, body = body[8], body[9:9+own], slices.Concat(body[:8], []byte{body[8] &^ 0x87}, body[9+own:])
	}
	out := []byte("GIF89a")
	out = binary.LittleEndian.AppendUint16(out, uint16(w)) //nolint:gosec // read from 16 bits
	out = binary.LittleEndian.AppendUint16(out, uint16(h)) //nolint:gosec // read from 16 bits
	if len(palette) > 0 {
		flags |= 7
		palette = slices.Concat(palette, make([]byte, longestPalette-len(palette)))
	}
	out = append(out, flags, 0, 0)
	out = append(out, palette...)
	if control != nil {
		out = append(append(out, 0x21, 0xf9), control...)
	}
	out = append(out, 0x2c, 0, 0, 0, 0)
	return slices.Concat(out, body[4:], []byte{0x3b})
}

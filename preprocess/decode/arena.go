package decode

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// Source is the file to decode. It may have no name.
type Source struct {
	File   *os.File // read-only, at offset 0
	Size   int64    // bytes
	Format preprocess.Format
	Limits preprocess.Limits
}

// Found is what a decoder found out about the whole file; the pixels and the
// samples are in the Arena.
//
// A decoder that fails returns a *preprocess.Error where it can tell the client
// what is wrong (a limit that was passed), and any other error where the file
// is damaged: the client is then told that the format was recognised but could
// not be decoded.
type Found struct {
	Kind     preprocess.Kind
	Format   string            // as a person names it; the sniffed one when empty
	Width    int               // of the original, upright; 0 for sound
	Height   int               // of the original, upright; 0 for sound
	Duration time.Duration     // 0 for a still picture
	Notes    []preprocess.Note // what is not judged
}

// Arena fills the shared output file. Frames and windows are written, which
// took less time than to map fresh pages (DESIGN.md says where). The room for
// stretches, which are large and filled bit by bit, is mapped. It is not safe for
// concurrent use. Whoever made it calls Close.
type Arena struct {
	file      *os.File
	limit     int64
	size      int64
	pieces    [][]byte
	frames    []preprocess.FrameRef
	windows   []preprocess.WindowRef
	stretches []preprocess.StretchRef
	tell      func(preprocess.WindowRef) error // the server, of a window that is done; may be nil
}

// NewArena fills file, which is empty and stays open after Close, with at most
// limit bytes.
func NewArena(file *os.File, limit int64) *Arena { return &Arena{file: file, limit: limit} }

// Frame writes a picture of w by h pixels at the time at, and keeps none of it: pix
// is RGB, rows top to bottom without padding.
// The error is preprocess.ErrOutputFull once the limit is passed.
func (a *Arena) Frame(pix []byte, w, h int, at time.Duration) error {
	if w < 1 || h < 1 || w > 1<<16 || h > 1<<16 || len(pix) != w*h*3 {
		return fmt.Errorf("frame of %d by %d pixels in %d bytes", w, h, len(pix))
	}
	offset, err := a.write(pix)
	if err != nil {
		return err
	}
	a.frames = append(a.frames, preprocess.FrameRef{Offset: offset, Width: w, Height: h, At: at})
	return nil
}

// Sound makes room for n samples and returns where it begins.
// The error is preprocess.ErrOutputFull once the limit is passed.
func (a *Arena) Sound(n int) (int64, error) {
	if n < 1 || n > 1<<28 {
		return 0, fmt.Errorf("sound of %d samples", n)
	}
	return a.room(preprocess.SampleBytes * int64(n))
}

// Samples writes samples into a room for sound, and keeps none of them.
func (a *Arena) Samples(samples []int16, offset int64) error {
	if len(samples) == 0 {
		return nil
	}
	raw := unsafe.Slice((*byte)(unsafe.Pointer(&samples[0])), preprocess.SampleBytes*len(samples))
	if _, err := a.file.WriteAt(raw, offset); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Window counts n samples in a room for sound as a window that starts at the time at. Windows may overlap.
func (a *Arena) Window(offset int64, n int, at time.Duration) {
	a.windows = append(a.windows, preprocess.WindowRef{Offset: offset, Samples: n, At: at})
}

// Stretch makes room for pictures of w by h pixels at some times, and returns their
// w*h*3 zero bytes each, picture after picture. They count once the caller hands the
// reference to Keep; their room stays taken either way.
// The error is preprocess.ErrOutputFull once the limit is passed.
func (a *Arena) Stretch(w, h int, at []time.Duration) (preprocess.StretchRef, []byte, error) {
	if len(at) < 1 || w < 1 || h < 1 || len(at) > 1<<8 || w > 1<<16 || h > 1<<16 {
		return preprocess.StretchRef{}, nil, fmt.Errorf("stretch of %d frames of %d by %d pixels", len(at), w, h)
	}
	offset, pix, err := a.piece(int64(len(at)) * int64(w) * int64(h) * 3)
	return preprocess.StretchRef{Offset: offset, Width: w, Height: h, At: at}, pix, err
}

// Keep counts a stretch all of whose pictures have been written.
func (a *Arena) Keep(s preprocess.StretchRef) { a.stretches = append(a.stretches, s) }

// Done tells the server of the window made last, which is judged from then on.
func (a *Arena) Done() error {
	if a.tell == nil || len(a.windows) == 0 {
		return nil
	}
	return a.tell(a.windows[len(a.windows)-1])
}

// Forget takes windows back, all but the first keep. Their room stays taken: the
// server may be reading what is done.
func (a *Arena) Forget(keep int) { a.windows = a.windows[:keep] }

// Frames lists the frames made so far, in order.
func (a *Arena) Frames() []preprocess.FrameRef { return a.frames }

// Stretches lists the stretches that are kept, in order.
func (a *Arena) Stretches() []preprocess.StretchRef { return a.stretches }

// Windows lists the windows made so far, in order.
func (a *Arena) Windows() []preprocess.WindowRef { return a.windows }

// Close unmaps every piece: no slice handed out may be used after it. The file
// keeps what was written.
func (a *Arena) Close() error {
	var errs []error
	for _, p := range a.pieces {
		errs = append(errs, unix.Munmap(p))
	}
	a.pieces = nil
	return errors.Join(errs...)
}

// write puts content into room of its own and returns where it begins.
func (a *Arena) write(content []byte) (int64, error) {
	offset, err := a.room(int64(len(content)))
	if err != nil {
		return 0, err
	}
	if _, err := a.file.WriteAt(content, offset); err != nil {
		return 0, fmt.Errorf("write the output: %w", err)
	}
	return offset, nil
}

// room takes n bytes, rounded up to whole pages, and returns where they begin.
func (a *Arena) room(n int64) (int64, error) {
	page := int64(os.Getpagesize())
	whole := (n + page - 1) / page * page
	if whole > a.limit-a.size {
		return 0, preprocess.ErrOutputFull
	}
	a.size += whole
	return a.size - whole, nil
}

// piece grows the file by room for n bytes and maps it.
func (a *Arena) piece(n int64) (int64, []byte, error) {
	offset, err := a.room(n)
	if err != nil {
		return 0, nil, err
	}
	if err := a.file.Truncate(a.size); err != nil {
		return 0, nil, fmt.Errorf("grow the output: %w", err)
	}
	piece, err := unix.Mmap(int(a.file.Fd()), offset, int(a.size-offset), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return 0, nil, fmt.Errorf("map the output: %w", err)
	}
	a.pieces = append(a.pieces, piece)
	return offset, piece[:n:n], nil
}

package preprocess

import (
	"bytes"
	"context"
	"io"
	"slices"
)

// soonBytes is up to which size sounds and animations are decoded soon: most within half a
// second, half an hour of speech within two or three.
var soonBytes = map[Format]int64{
	WAV: 32 << 20, FLAC: 32 << 20, MP3: 8 << 20, AAC: 8 << 20, M4A: 8 << 20,
	OGG: 1 << 20, AMR: 1 << 20, AMRWB: 1 << 20,
	GIF: 8 << 20, PNG: 8 << 20, WebP: 8 << 20,
}

// moving is what stands near the beginning of animations, and of films among sounds. Of one
// that has it further on it only is not known here.
var moving = map[Format][]string{
	PNG: {"acTL"}, WebP: {"ANIM"}, OGG: {"\x80theora", "OVP80", "\x01video"},
}

// lengthy says whether a file may have a child for seconds: what may be a film, HEIC and AVIF,
// whose decoders a child first compiles, large animations and large sounds. A still picture
// of another format is done soon, however large it is.
func lengthy(f io.ReaderAt, size int64, format Format) bool {
	large := size > soonBytes[format]
	switch format {
	case JPEG, BMP, TIFF:
		return false
	case PNG, WebP:
		return large && moves(f, format)
	case OGG:
		return large || moves(f, format)
	case GIF, WAV, MP3, AAC, M4A, FLAC, AMR, AMRWB:
		return large
	default:
		return true
	}
}

// moves says whether the beginning of a file shows that there is more than one picture, or
// one at all where it could be only sound.
func moves(f io.ReaderAt, format Format) bool {
	head := make([]byte, SniffBytes)
	n, _ := f.ReadAt(head, 0) // what can't be read is the decoder's to say
	return slices.ContainsFunc(moving[format], func(mark string) bool { return bytes.Contains(head[:n], []byte(mark)) })
}

// hold waits until fewer lengthy files than may be have a child, and counts one more, which
// release ends.
func (p *Pool) hold(ctx context.Context) (release func(), err error) {
	select {
	case p.lengthy <- struct{}{}:
		return func() { <-p.lengthy }, nil
	case <-p.ctx.Done():
		return nil, ErrPoolClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

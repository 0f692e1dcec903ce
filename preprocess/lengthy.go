package preprocess

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"

	"deepfaked/preprocess/internal/animation"
)

// soonBytes is up to which size sounds and animations are decoded soon: most within half a
// second, half an hour of speech within two or three.
var soonBytes = map[Format]int64{
	WAV: 32 << 20, FLAC: 32 << 20, MP3: 8 << 20, AAC: 8 << 20, M4A: 8 << 20,
	OGG: 1 << 20, AMR: 1 << 20, AMRWB: 1 << 20,
	GIF: 8 << 20, PNG: 8 << 20, WebP: 8 << 20,
}

// soonPixels and soonSamples are what is decoded as soon, of all frames of an animation and all
// channels of a sound, however few bytes say it.
const (
	soonPixels  = 50_000_000
	soonSamples = 75_000_000
)

// moving is what stands near the beginning of animations, and of films among sounds. Of one
// that has it further on it only is not known here.
var moving = map[Format][]string{
	PNG: {"acTL"}, WebP: {"ANIM"}, OGG: {"\x80theora", "OVP80", "\x01video"},
}

// lengthy says whether a file may have a child for seconds: what may be a film, HEIC and AVIF,
// whose decoders a child first compiles, large animations and large sounds. A still picture
// of another format is done soon, however large it is.
func lengthy(f io.ReaderAt, req DecodeRequest) bool {
	large := req.Size > soonBytes[req.Format]
	switch req.Format {
	case JPEG, BMP, TIFF:
		return false
	case PNG, WebP:
		return moves(f, req.Format) && (large || manyPixels(f, req))
	case GIF:
		return large || manyPixels(f, req)
	case FLAC:
		return large || manySamples(f)
	case OGG:
		return large || moves(f, req.Format)
	case WAV, MP3, AAC, M4A, AMR, AMRWB:
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

// takeApart finds the frames of an animation.
var takeApart = map[Format]func([]byte) (*animation.Animation, error){
	GIF: animation.GIF, PNG: animation.PNG, WebP: animation.WebP,
}

// manyPixels says whether the frames of a small animation, and the canvas that is shown of some of
// them, have more pixels than are decoded soon. One that is refused at once has none.
func manyPixels(f io.ReaderAt, req DecodeRequest) bool {
	data := make([]byte, req.Size)
	n, _ := f.ReadAt(data, 0) // what can't be read is the decoder's to say
	a, err := takeApart[req.Format](data[:n])
	if err != nil || a == nil {
		return false
	}
	shown := int64(min(len(a.Frames), req.Limits.Frames))
	return a.Area()+shown*int64(a.Width)*int64(a.Height) > soonPixels
}

// manySamples says whether a FLAC file says that it has more samples than are decoded soon, or
// does not say how many: RFC 9639, section 8.2.
func manySamples(f io.ReaderAt) bool {
	const magic, blockHeader, before = 4, 4, 10
	head := make([]byte, 10)
	_, _ = f.ReadAt(head, 0)
	b, err := at(f, ID3Size(head)+magic+blockHeader+before, 8)
	if err != nil {
		return false // its decoder says so at once
	}
	bits := binary.BigEndian.Uint64(b)
	channels, samples := bits>>41&7+1, bits&(1<<36-1)
	return samples == 0 || samples*channels > soonSamples
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

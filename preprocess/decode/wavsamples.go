package decode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-audio/wav"
)

// wavBlock is how many samples of all channels together are read at a time: few
// enough for what is made of them to stay in the cache of the processor.
const wavBlock = 1 << 13

// monoReader fills mono with the next samples, mixed to one channel, at the
// file's own rate, and returns how many there were: 0 at the end.
type monoReader func(mono []float32) (int, error)

// openWAV reads the samples of a checked file: integers by the library,
// which takes nothing else for what it is, and the rest by our own few lines.
func openWAV(r io.ReaderAt, s wavSound, m *mixer) (monoReader, error) {
	if s.Encoding == wavPCM {
		return openPCM(r, s, m)
	}
	sample, err := wavSample(s)
	if err != nil {
		return nil, err
	}
	data := io.NewSectionReader(r, s.DataAt, s.Frames*int64(s.Block()))
	buf := make([]byte, wavBlock/s.Channels*s.Block())
	levels := make([]float64, s.Channels)
	return func(mono []float32) (int, error) {
		n := min(len(mono), wavBlock/s.Channels) * s.Block()
		n, err := io.ReadFull(data, buf[:n])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, fmt.Errorf("read samples: %w", err)
		}
		n /= s.Block()
		for i := range n {
			for c := range levels {
				levels[c] = sample(buf[(i*s.Channels+c)*s.Bytes:])
			}
			mono[i] = float32(m.Mix(levels))
		}
		return n, nil
	}, nil
}

// wavSample reads one sample of the encodings other than integers.
func wavSample(s wavSound) (func([]byte) float64, error) {
	switch {
	case s.Encoding == wavFloat && s.Bytes == 4:
		return func(b []byte) float64 {
			return finite(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		}, nil
	case s.Encoding == wavFloat && s.Bytes == 8:
		return func(b []byte) float64 { return finite(math.Float64frombits(binary.LittleEndian.Uint64(b))) }, nil
	case s.Encoding == wavALaw:
		return func(b []byte) float64 { return aLaw(b[0]) }, nil
	case s.Encoding == wavMuLaw:
		return func(b []byte) float64 { return muLaw(b[0]) }, nil
	}
	return nil, fmt.Errorf("%w: encoding %d in %d bytes", errDamagedWAV, s.Encoding, s.Bytes)
}

// loudest is the level beyond which samples are not passed on: what is above full scale may come
// back below it when the rate is changed, but nothing is made to overflow there.
const loudest = 256

// finite is x, or silence where x is no level that a sample can have.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return max(-loudest, min(x, loudest))
}

// aLaw expands a sample after ITU-T G.711, in [-1, 1].
func aLaw(b byte) float64 {
	b ^= 0x55
	level := int(b&0x0F)<<4 + 8
	if segment := int(b >> 4 & 7); segment > 0 {
		level = (level + 0x100) << (segment - 1)
	}
	if b&0x80 == 0 {
		level = -level
	}
	return float64(level) / (1 << 15)
}

// muLaw expands a sample after ITU-T G.711, in [-1, 1].
func muLaw(b byte) float64 {
	b = ^b
	level := (int(b&0x0F)<<3+0x84)<<(b>>4&7) - 0x84
	if b&0x80 != 0 {
		level = -level
	}
	return float64(level) / (1 << 15)
}

// openPCM reads integers.
func openPCM(r io.ReaderAt, s wavSound, m *mixer) (monoReader, error) {
	data, err := pcmData(r, s)
	if err != nil {
		return nil, err
	}
	raw, levels := make([]byte, wavBlock*s.Bytes), make([]float64, wavBlock)
	return func(mono []float32) (int, error) {
		n := min(len(mono), wavBlock/s.Channels) * s.Block()
		n, err := io.ReadFull(data, raw[:n])
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, fmt.Errorf("read samples: %w", err)
		}
		n /= s.Block()
		if s.Channels == 1 { // has nothing to lose
			integers(mono[:n], raw, s.Bytes)
			return n, nil
		}
		integers(levels[:n*s.Channels], raw, s.Bytes)
		m.MixAll(mono[:n], levels, s.Channels)
		return n, nil
	}, nil
}

// pcmData lets the library find the integers of a checked file. It is shown a
// header of our own making before them, never the file's: it believes what it
// reads.
func pcmData(r io.ReaderAt, s wavSound) (*io.SectionReader, error) {
	size := s.Frames * int64(s.Block())
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("%w: %d bytes of samples", errDamagedWAV, size)
	}
	view := &wavView{head: wavHead(s, size), r: r, at: s.DataAt}
	dec := wav.NewDecoder(io.NewSectionReader(view, 0, wavHeadSize+size))
	if err := dec.FwdToPCM(); err != nil || dec.Err() != nil {
		return nil, fmt.Errorf("open samples: %w", errors.Join(err, dec.Err()))
	}
	at, err := dec.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, fmt.Errorf("open samples: %w", err)
	}
	return io.NewSectionReader(view, at, size), nil
}

// integers turns samples of width bytes into levels in [-1, 1]. The library does
// so as well, by a call of a reader and of a function for each sample.
//
//nolint:gosec // the bits are those of numbers with a sign
func integers[T float32 | float64](levels []T, raw []byte, width int) {
	switch width {
	case 1: // the only ones without a sign
		for i := range levels {
			levels[i] = (T(raw[i]) - 128) / (1 << 7)
		}
	case 2:
		words(levels, raw)
	case 3:
		for i := range levels {
			b := raw[3*i : 3*i+3]
			levels[i] = T(int32(b[0])<<8|int32(b[1])<<16|int32(int8(b[2]))<<24) / (1 << 31)
		}
	default:
		for i := range levels {
			levels[i] = T(int32(binary.LittleEndian.Uint32(raw[4*i:]))) / (1 << 31)
		}
	}
}

// words is integers for two bytes, the width of most files, four samples at a time.
//
//nolint:gosec // as above
func words[T float32 | float64](levels []T, raw []byte) {
	for ; len(levels) >= 4 && len(raw) >= 8; levels, raw = levels[4:], raw[8:] {
		four := binary.LittleEndian.Uint64(raw)
		levels[0] = T(int16(four)) / (1 << 15)
		levels[1] = T(int16(four>>16)) / (1 << 15)
		levels[2] = T(int16(four>>32)) / (1 << 15)
		levels[3] = T(int16(four>>48)) / (1 << 15)
	}
	for i := range levels {
		levels[i] = T(int16(binary.LittleEndian.Uint16(raw[2*i:]))) / (1 << 15)
	}
}

// wavHeadSize is the length in bytes of the smallest complete WAV header.
const wavHeadSize = 44

// wavHead is the header of a plain PCM file with size bytes of samples.
//
//nolint:gosec // openPCM and the bounds of wavSound keep every field in range
func wavHead(s wavSound, size int64) []byte {
	b := make([]byte, 0, wavHeadSize)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(wavHeadSize-8+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, wavPCM)
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Rate*s.Block()))
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Block()))
	b = binary.LittleEndian.AppendUint16(b, uint16(8*s.Bytes))
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, uint32(size))
}

// wavView is head followed by what r holds from the offset at.
type wavView struct {
	head []byte
	r    io.ReaderAt
	at   int64
}

// ReadAt serves a read that spans both parts in two steps.
func (v *wavView) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(v.head)) {
		return v.r.ReadAt(p, v.at+off-int64(len(v.head)))
	}
	n := copy(p, v.head[off:])
	if n == len(p) {
		return n, nil
	}
	m, err := v.r.ReadAt(p[n:], v.at)
	return n + m, err
}

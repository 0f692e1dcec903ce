package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"deepfaked/preprocess"
)

// The encodings of a WAV file that are decoded, by their registered tags
// (RFC 2361). Files marked wavExtensible carry one of them in a GUID.
const (
	wavPCM        = 0x0001
	wavFloat      = 0x0003
	wavALaw       = 0x0006
	wavMuLaw      = 0x0007
	wavExtensible = 0xFFFE
)

// What a WAV file may declare. No microphone and no editor goes beyond it.
const (
	wavMaxChannels = 64
	wavMinRate     = 1_000
	wavMaxRate     = 768_000
	wavMaxChunks   = 10_000
	wavMaxFormat   = 4096 // bytes of a fmt chunk
)

// wavGUID is what follows the tag in the GUID of an extensible file.
const wavGUID = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"

// wavEndless is what SoX, espeak and arecord give for the length where they can't go back to
// write it, less what they round off.
const wavEndless = 0x7fff0000

// wavSound is a WAV file after its chunks have been checked: every number is
// within bounds and the data lies within the file.
type wavSound struct {
	Encoding int   // one of the tags above, never wavExtensible
	Channels int   // 1 to wavMaxChannels
	Rate     int   // Hz
	Bytes    int   // of one sample of one channel
	DataAt   int64 // offset of the first sample
	Frames   int64 // samples of each channel; at least 1
	Missing  int64 // samples of each channel that should follow where the file ends, or do so in another chunk
}

// Block is the size in bytes of one sample of all channels.
func (s wavSound) Block() int { return s.Channels * s.Bytes }

// errDamagedWAV is wrapped by everything that is wrong with the chunks.
var errDamagedWAV = errors.New("damaged WAV")

// parseWAV walks the chunks of a WAV file of size bytes up to its samples. It
// reads headers only and allocates nothing that the file asks for. What the
// file may be but we do not decode is a *preprocess.Error; everything else that
// is wrong wraps errDamagedWAV.
func parseWAV(r io.ReaderAt, size int64) (wavSound, error) {
	w := wavWalker{r: r, size: size}
	w.tags()
	if err := w.riff(); err != nil {
		return wavSound{}, err
	}
	for range wavMaxChunks {
		id, length, err := w.chunk()
		if err != nil {
			return wavSound{}, err
		}
		if id == "data" && !w.empty(length) {
			return w.data(length)
		}
		if err := w.read(id, length); err != nil {
			return wavSound{}, err
		}
		w.pos += length
		if length%2 == 1 && !w.unpadded() {
			w.pos++ // chunks are padded to even lengths
		}
	}
	return wavSound{}, fmt.Errorf("%w: more than %d chunks before the samples", errDamagedWAV, wavMaxChunks)
}

// wavWalker is at pos, the start of a chunk or of its content.
type wavWalker struct {
	r         io.ReaderAt
	size, pos int64
	long      bool  // RF64: sizes beyond 32 bits are in the ds64 chunk
	longData  int64 // from the ds64 chunk
	sound     wavSound
	known     []byte // the fmt chunk, once it has been read
	skipped   bool   // a data chunk that was empty
}

// tags moves behind the ID3 tags that some programs write before any sound. FFmpeg passes
// over one.
func (w *wavWalker) tags() {
	for range wavMaxChunks {
		var head [10]byte
		_, err := w.r.ReadAt(head[:], w.pos)
		length := preprocess.ID3Size(head[:])
		if err != nil || length == 0 || length > w.size-w.pos {
			return
		}
		w.pos += length
	}
}

// riff checks the first twelve bytes and moves behind them.
func (w *wavWalker) riff() error {
	var head [12]byte
	if _, err := w.r.ReadAt(head[:], w.pos); err != nil || w.size-w.pos < 12 {
		return fmt.Errorf("%w: no header", errDamagedWAV)
	}
	w.pos += 12
	switch id := string(head[:4]); {
	case id == "RIFX":
		return unsupported("The file is recognised as WAV but it is big-endian (RIFX), which is not supported; convert it to a RIFF file.")
	case id != "RIFF" && id != "RF64" && id != "BW64" || string(head[8:]) != "WAVE":
		return fmt.Errorf("%w: no RIFF header", errDamagedWAV)
	default:
		w.long = id != "RIFF"
		return nil
	}
}

// chunk reads the header of the next chunk and moves behind it.
func (w *wavWalker) chunk() (id string, length int64, err error) {
	var head [8]byte
	if w.pos > w.size-8 {
		return "", 0, fmt.Errorf("%w: it ends before the samples", errDamagedWAV)
	}
	if _, err := w.r.ReadAt(head[:], w.pos); err != nil {
		return "", 0, fmt.Errorf("%w: %w", errDamagedWAV, err)
	}
	w.pos += 8
	id, length = string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
	if id != "data" && length > w.size-w.pos {
		return "", 0, fmt.Errorf("%w: chunk %q of %d bytes does not fit", errDamagedWAV, id, length)
	}
	return id, length, nil
}

// unpadded says whether what is needed starts where the padding of an odd chunk should
// be: some writers leave it out.
func (w *wavWalker) unpadded() bool {
	var id [4]byte
	_, err := w.r.ReadAt(id[:], w.pos)
	return err == nil && (string(id[:]) == "fmt " || string(id[:]) == "data")
}

// read takes what is needed from a chunk that comes before the samples.
func (w *wavWalker) read(id string, length int64) error {
	switch id {
	case "fmt ":
		return w.format(length)
	case "ds64":
		var b [16]byte // RIFF size, data size
		if length < 28 || !w.long {
			return fmt.Errorf("%w: misplaced ds64 chunk", errDamagedWAV)
		}
		if _, err := w.r.ReadAt(b[:], w.pos); err != nil {
			return fmt.Errorf("%w: %w", errDamagedWAV, err)
		}
		w.longData = int64(min(binary.LittleEndian.Uint64(b[8:]), 1<<62))
	}
	return nil
}

// format reads the fmt chunk.
func (w *wavWalker) format(length int64) error {
	if length < 16 || length > wavMaxFormat {
		return fmt.Errorf("%w: senseless fmt chunk", errDamagedWAV)
	}
	b := make([]byte, length)
	if _, err := w.r.ReadAt(b, w.pos); err != nil {
		return fmt.Errorf("%w: %w", errDamagedWAV, err)
	}
	if w.known != nil {
		if !bytes.Equal(w.known, b) {
			return fmt.Errorf("%w: two fmt chunks", errDamagedWAV)
		}
		return nil
	}
	tag, err := wavEncoding(b)
	if err != nil {
		return err
	}
	w.known = b
	w.sound = wavSound{
		Encoding: tag,
		Channels: int(binary.LittleEndian.Uint16(b[2:])),
		Rate:     int(binary.LittleEndian.Uint32(b[4:])),
	}
	return w.sound.layout(int(binary.LittleEndian.Uint16(b[12:])), int(binary.LittleEndian.Uint16(b[14:])))
}

// wavEncoding finds the tag of a fmt chunk, in its GUID where it has one.
func wavEncoding(b []byte) (int, error) {
	tag := int(binary.LittleEndian.Uint16(b))
	if tag == wavExtensible {
		if len(b) < 40 || string(b[26:40]) != wavGUID {
			return 0, unsupported("The file is recognised as WAV but its extensible encoding is not supported; convert it to PCM.")
		}
		tag = int(binary.LittleEndian.Uint16(b[24:]))
	}
	switch tag {
	case wavPCM, wavFloat, wavALaw, wavMuLaw:
		return tag, nil
	}
	return 0, unsupported(fmt.Sprintf("The file is recognised as WAV but its encoding 0x%04x is not supported; convert it to PCM.", tag))
}

// layout checks how samples lie in the data: align bytes for all channels, which some
// writers leave 0, each sample of bits bits at the top of as many bytes as it needs.
func (s *wavSound) layout(align, bits int) error {
	if align == 0 {
		align = s.Channels * ((bits + 7) / 8)
	}
	switch {
	case s.Channels < 1 || s.Channels > wavMaxChannels:
		return fmt.Errorf("%w: %d channels", errDamagedWAV, s.Channels)
	case s.Rate < wavMinRate || s.Rate > wavMaxRate:
		return fmt.Errorf("%w: %d Hz", errDamagedWAV, s.Rate)
	case s.Encoding == wavPCM && bits == 24 && align == 4*s.Channels:
		return unsupported("The file is recognised as WAV but samples of 24 bits in four bytes may be of several kinds; convert it to 16-bit PCM.")
	case bits < 1 || align != s.Channels*((bits+7)/8):
		return fmt.Errorf("%w: %d bits, %d channels in %d bytes", errDamagedWAV, bits, s.Channels, align)
	}
	s.Bytes = align / s.Channels
	ok := false
	switch s.Encoding {
	case wavPCM:
		ok = s.Bytes <= 4
	case wavFloat:
		ok = bits == 32 || bits == 64
	case wavALaw, wavMuLaw:
		ok = bits == 8
	}
	if !ok {
		return unsupported(fmt.Sprintf("The file is recognised as WAV but samples of %d bits are not supported in its encoding; convert it to 16-bit PCM.", bits))
	}
	return nil
}

// data ends the walk at the samples. Writers that could not know the length
// leave 0, 0xFFFFFFFF or wavEndless; what lies beyond the end of a file that was cut
// off is not there.
func (w *wavWalker) data(length int64) (wavSound, error) {
	if w.known == nil {
		return wavSound{}, fmt.Errorf("%w: samples before their format", errDamagedWAV)
	}
	rest := w.size - w.pos
	switch {
	case w.long && length == 0xFFFFFFFF && w.longData > 0:
		length = w.longData
	case length == 0 && w.chunksFollow(): // there is none
	case length == 0 || length == 0xFFFFFFFF || length >= wavEndless && length > rest:
		length = rest
	}
	there := min(length, rest)
	w.sound.DataAt = w.pos
	w.sound.Frames = there / int64(w.sound.Block())
	w.sound.Missing = (length - there + w.more(there)) / int64(w.sound.Block())
	if w.sound.Frames == 0 {
		return wavSound{}, unsupported("The file is recognised as WAV but it holds no sound.")
	}
	return w.sound, nil
}

// empty says whether a data chunk of that length holds nothing and another one follows.
// What follows one that was passed over is known to be chunks.
func (w *wavWalker) empty(length int64) bool {
	if length == 0 && !w.skipped {
		_, data := w.following(w.pos)
		w.skipped = data > 0
	}
	return length == 0 && w.skipped
}

// more is the length of the next data chunk behind length bytes of sound, or 0.
func (w *wavWalker) more(length int64) int64 {
	w.pos += length
	if length%2 == 1 && !w.unpadded() {
		w.pos++
	}
	_, data := w.following(w.pos)
	return data
}

// chunksFollow says whether the rest of the file is nothing but chunks: then a
// length of 0 is meant. Sound is not taken for them, nor they for sound.
func (w *wavWalker) chunksFollow() bool {
	only, _ := w.following(w.pos)
	return only
}

// following says whether the file is nothing but chunks from there on, and the length of
// the first data chunk among them that is not empty, or of what there is of it.
func (w *wavWalker) following(at int64) (only bool, data int64) {
	start := at
	for range wavMaxChunks {
		var head [8]byte
		if at >= w.size {
			return at > start, 0
		}
		if n, _ := w.r.ReadAt(head[:], at); n < len(head) {
			return false, 0
		}
		for _, c := range head[:4] {
			if c < ' ' || c > '~' {
				return false, 0
			}
		}
		length := int64(binary.LittleEndian.Uint32(head[4:]))
		at += int64(len(head))
		if string(head[:4]) == "data" && length > 0 {
			return true, min(length, w.size-at)
		}
		if at += length + length%2; at > w.size+1 {
			return false, 0
		}
	}
	return false, 0
}

// unsupported is a file that cannot be judged for a reason its sender can mend.
func unsupported(message string) error {
	return &preprocess.Error{Code: preprocess.UnsupportedMediaType, Message: message}
}

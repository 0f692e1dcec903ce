//go:build gocv_specific_modules

package decode

/*
#include <stdlib.h>
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

static int wouldBlock(int code) { return code == AVERROR(EAGAIN); }

// openSound starts a decoder of one thread. name becomes the decoder's name.
static AVCodecContext *openSound(AVStream *s, const char *allowed, int *err) {
	const AVCodec *codec = avcodec_find_decoder(s->codecpar->codec_id);
	AVCodecContext *c = codec ? avcodec_alloc_context3(codec) : NULL;
	AVDictionary *opts = NULL;
	if (!c) {
		*err = codec ? AVERROR(ENOMEM) : AVERROR_DECODER_NOT_FOUND;
		return NULL;
	}
	c->thread_count = 1;
	c->pkt_timebase = s->time_base;
	if ((*err = av_dict_set(&opts, "codec_whitelist", allowed, 0)) >= 0 &&
		(*err = avcodec_parameters_to_context(c, s->codecpar)) >= 0)
		*err = avcodec_open2(c, codec, &opts);
	av_dict_free(&opts);
	if (*err < 0)
		avcodec_free_context(&c);
	return c;
}
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"deepfaked/preprocess"
)

// soundDecoder decodes one stream of sound into s. Whoever made it calls Close.
type soundDecoder struct {
	stream C.int
	ctx    *C.AVCodecContext
	frame  *C.AVFrame
	s      *sound
	r      *resampler
	like   soundShape // what r takes
	faults int        // packets and frames that made no sense
	tag    int64      // bytes of a tag between the packets that are still to come
}

// id3v1Size is the length in bytes of the tag that files may end with.
const id3v1Size = 128

// soundShape is what may change from frame to frame.
type soundShape struct{ format, rate, channels C.int }

// newSoundDecoder fails for codecs that are not allowed.
func newSoundDecoder(stream *C.AVStream, s *sound) (*soundDecoder, error) {
	allowed := C.CString(soundCodecs)
	defer C.free(unsafe.Pointer(allowed))
	var code C.int
	ctx := C.openSound(stream, allowed, &code)
	if ctx == nil {
		return nil, avError("open sound", code)
	}
	frame := C.av_frame_alloc()
	if frame == nil {
		C.avcodec_free_context(&ctx)
		return nil, errMemory
	}
	return &soundDecoder{stream: stream.index, ctx: ctx, frame: frame, s: s}, nil
}

// Close frees what the libraries hold.
func (d *soundDecoder) Close() {
	if d.r != nil {
		d.r.Close()
	}
	C.av_frame_free(&d.frame)
	C.avcodec_free_context(&d.ctx)
}

// Decode takes a packet. Damaged ones are counted and passed over; the error is
// a limit that was passed, or that memory ran out.
func (d *soundDecoder) Decode(p *C.AVPacket) error {
	faults := d.faults
	err := d.send(p)
	if d.tagged(unsafe.Slice((*byte)(p.data), int(p.size)), d.faults > faults) {
		d.faults = faults
	}
	return err
}

// tagged says whether a packet made no sense because it is of a tag, or ends in one, or is a
// header of Opus. Files that were joined have them in their midst, and nothing is missing.
func (d *soundDecoder) tagged(packet []byte, senseless bool) bool {
	if senseless {
		d.tag = max(d.tag, preprocess.ID3Size(packet), apeEnd(packet))
	}
	within := d.tag > 0 // a tag with a cover is many packets
	d.tag = max(0, d.tag-int64(len(packet)))
	last := packet[max(0, len(packet)-id3v1Size):]
	return senseless && (within || bytes.HasPrefix(last, []byte("TAG")) ||
		bytes.HasPrefix(packet, []byte("OpusHead")) || bytes.HasPrefix(packet, []byte("OpusTags")))
}

// apeEnd is where in what begins with packet the APE tag ends whose header or footer is in it; 0
// without one. Programs that level the loudness of MP3 write them. APEv2, "APE Tags Header".
func apeEnd(packet []byte) int64 {
	const size, header = 32, 1 << 29
	at := bytes.Index(packet, []byte("APETAGEX"))
	if at < 0 || len(packet) < at+size {
		return 0
	}
	end := int64(at + size)
	if binary.LittleEndian.Uint32(packet[at+20:])&header != 0 {
		end += int64(binary.LittleEndian.Uint32(packet[at+12:]))
	}
	return end
}

// send has a packet decoded.
func (d *soundDecoder) send(p *C.AVPacket) error {
	if code := C.avcodec_send_packet(d.ctx, p); code < 0 {
		return d.fault(code)
	}
	return d.drain()
}

// fault counts what made no sense to the decoder, unless it had no memory for it.
func (d *soundDecoder) fault(code C.int) error {
	if code == noMemory {
		return errMemory
	}
	d.faults++
	return nil
}

// Finish decodes what is still held back at the end.
func (d *soundDecoder) Finish() error {
	C.avcodec_send_packet(d.ctx, nil)
	if err := d.drain(); err != nil {
		return err
	}
	return d.flush()
}

// drain takes every frame that is ready.
func (d *soundDecoder) drain() error {
	for {
		code := C.avcodec_receive_frame(d.ctx, d.frame)
		if code < 0 {
			if C.wouldBlock(code) == 0 && code != C.AVERROR_EOF {
				return d.fault(code)
			}
			return nil
		}
		err := d.take()
		C.av_frame_unref(d.frame)
		if err != nil {
			return err
		}
	}
}

// take resamples the frame, anew where its shape differs from the last one's.
func (d *soundDecoder) take() error {
	f := d.frame
	shape := soundShape{f.format, f.sample_rate, f.ch_layout.nb_channels}
	if err := d.s.hear(int(f.nb_samples), int(shape.channels)); err != nil {
		return err
	}
	if d.r == nil || shape != d.like {
		if err := d.flush(); err != nil {
			return err
		}
		if shape.rate < wavMinRate || shape.rate > wavMaxRate || shape.channels < 1 || shape.channels > wavMaxChannels {
			d.faults++
			return nil
		}
		r, err := newResampler(&f.ch_layout, C.enum_AVSampleFormat(f.format), int(f.sample_rate), d.s.mix.only)
		if err != nil {
			d.faults++
			return nil //nolint:nilerr // the frame is passed over like any that makes no sense
		}
		d.r, d.like = r, shape
	}
	if at, ok := timeOf(f.best_effort_timestamp, d.ctx.pkt_timebase); ok {
		d.s.times.note(d.s.n, at, d.s.limit)
	}
	measure(&d.s.mix, f)
	return d.s.take(d.r.Frame(f))
}

// flush ends the resampler.
func (d *soundDecoder) flush() error {
	if d.r == nil {
		return nil
	}
	err := d.s.take(d.r.Flush())
	d.r.Close()
	d.r = nil
	return err
}

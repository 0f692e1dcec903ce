//go:build gocv_specific_modules

package decode

/*
#include <errno.h>
#include <unistd.h>
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#if LIBAVFORMAT_VERSION_MAJOR >= 61
static int clipWrite(void *opaque, const uint8_t *buf, int n) {
#else
static int clipWrite(void *opaque, uint8_t *buf, int n) {
#endif
	int fd = (int)(intptr_t)opaque;
	for (int done = 0; done < n;) {
		ssize_t k = write(fd, buf + done, n - done);
		if (k < 0 && errno == EINTR) continue;
		if (k < 0) return AVERROR(errno);
		done += k;
	}
	return n;
}

static void clipClose(AVFormatContext *c) {
	AVIOContext *io = c->pb;
	avformat_free_context(c);
	if (io) {
		av_freep(&io->buffer);
		avio_context_free(&io);
	}
}

// clipOpen starts a Matroska file with one stream, coded like s, of one tick per
// packet: tick milliseconds each.
static AVFormatContext *clipOpen(int fd, AVStream *s, int *err) {
	const int room = 1 << 16;
	AVFormatContext *c = NULL;
	uint8_t *buf = av_malloc(room);
	*err = AVERROR(ENOMEM);
	if (!buf || (*err = avformat_alloc_output_context2(&c, NULL, "matroska", NULL)) < 0)
		goto fail;
	*err = AVERROR(ENOMEM);
	c->pb = avio_alloc_context(buf, room, 1, (void *)(intptr_t)fd, NULL, clipWrite, NULL);
	if (!c->pb)
		goto fail;
	buf = NULL;
	AVStream *o = avformat_new_stream(c, NULL);
	if (!o || (*err = avcodec_parameters_copy(o->codecpar, s->codecpar)) < 0)
		goto fail;
	o->codecpar->codec_tag = 0;
	o->time_base = (AVRational){1, 1000};
	if ((*err = avformat_write_header(c, NULL)) < 0)
		goto fail;
	return c;
fail:
	av_free(buf);
	if (c) clipClose(c);
	return NULL;
}

static int clipWritePacket(AVFormatContext *c, AVPacket *p, int64_t at) {
	AVRational ms = {1, 1000};
	p->stream_index = 0;
	p->pts = p->dts = av_rescale_q(at, ms, c->streams[0]->time_base);
	p->duration = 0;
	p->pos = -1;
	return av_write_frame(c, p);
}
*/
import "C"

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// clipTick is the time in milliseconds between packets of a clip. It says which
// packet a picture came from and has nothing to do with when it is shown.
const clipTick = 40

// clipTail is how many packets follow the last one that is wanted. OpenCV takes
// one picture from its decoder for each packet, and one more at the end: what
// the decoder still holds back then would be lost.
const clipTail = reorderTail + clipThreads

// clipTailBytes bounds what they take up in memory.
const clipTailBytes = 16 << 20

// makeClip copies the packets of pieces from src's stream into a file in memory
// that holds nothing else, so that OpenCV decodes from its first byte to its
// last and never seeks: its own seeking believes the header's frame count and
// rate, and always starts a key frame too early. Packet number i of the clip is
// at i*clipTick milliseconds. Those that are too damaged to be written are lost. The caller
// closes the file.
func makeClip(src Source, stream *C.AVStream, list []piece) (clip *os.File, lost []int, err error) {
	in, err := openInput(src)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	if int(stream.index) >= int(in.ctx.nb_streams) {
		return nil, nil, fmt.Errorf("%w: no stream %d", errDamaged, int(stream.index))
	}
	for i, s := range in.streams() {
		if i != int(stream.index) {
			s.discard = C.AVDISCARD_ALL
		}
	}
	fd, err := unix.MemfdCreate("clip", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, nil, fmt.Errorf("make clip: %w", err)
	}
	clip = os.NewFile(uintptr(fd), "clip")
	if lost, err = in.copyPieces(clip, stream, list); err != nil {
		_ = clip.Close()
		return nil, nil, err
	}
	return clip, lost, nil
}

// copyPieces writes the clip and says which packets could not be.
func (in *input) copyPieces(clip *os.File, stream *C.AVStream, list []piece) (lost []int, err error) {
	var code C.int
	out := C.clipOpen(C.int(clip.Fd()), stream, &code)
	if out == nil {
		return nil, avError("make clip", code)
	}
	defer C.clipClose(out)
	w := clipWriter{out: out, first: C.av_packet_alloc()}
	defer C.av_packet_free(&w.first)
	p := C.av_packet_alloc()
	defer C.av_packet_free(&p)
	if w.first == nil || p == nil {
		return nil, errMemory
	}
	current := settings{stream: stream}
	for ordinal := 0; len(list) > 0; {
		if err := in.next(p); isMemory(err) {
			return nil, err
		} else if err != nil {
			break // the pictures before the damage count
		}
		if p.stream_index == stream.index {
			others := current.follow(p)
			if others || ordinal == list[0].from {
				if err := current.put(p); err != nil {
					return nil, err
				}
			}
			if ordinal >= list[0].from {
				written, err := w.write(p)
				if err != nil {
					return nil, err
				}
				if !written {
					lost = append(lost, ordinal)
				}
			}
			if ordinal++; ordinal == list[0].to {
				list = list[1:]
			}
		}
		C.av_packet_unref(p)
	}
	return lost, w.finish()
}

// clipWriter numbers the packets that it writes.
type clipWriter struct {
	out     *C.AVFormatContext
	first   *C.AVPacket // kept, to be written again
	written int
}

// write writes a packet, unless that is damaged: of some codecs the library looks into them.
func (w *clipWriter) write(p *C.AVPacket) (written bool, err error) {
	code := C.clipWritePacket(w.out, p, C.int64_t(w.written*clipTick))
	w.written++
	switch {
	case code < 0 && code != noMemory && w.out.pb.error == 0: // the file takes more
		return false, nil
	case code < 0:
		return false, avError("make clip", code)
	case w.first.buf == nil && p != w.first && C.av_packet_ref(w.first, p) < 0:
		return false, errMemory
	}
	return true, nil
}

// finish writes the first packet, a key frame unless that was lost, as often as it takes
// for the decoder to let go of every picture before.
func (w *clipWriter) finish() error {
	if w.first.buf == nil {
		return fmt.Errorf("%w: no pictures", errDamaged)
	}
	for range min(clipTail, 1+clipTailBytes/max(int(w.first.size), 1)) {
		if _, err := w.write(w.first); err != nil {
			return err
		}
	}
	if code := C.av_write_trailer(w.out); code < 0 {
		return avError("make clip", code)
	}
	return nil
}

//go:build gocv_specific_modules

package decode

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <libavcodec/avcodec.h>

// Frames that are taken out of a decoder at most; it holds back at most 16 and its threads'.
#define HELD 64

static __thread const int64_t *pieceStarts; // times of the packets that begin a piece, in order
static __thread int pieceCount;
static __thread AVFrame *held[HELD];
static __thread int heldCount;
static __thread int sent; // whether a packet was, after the last frame
static __thread int given; // whether the decoder has given a frame of this piece

void packetSent(const AVPacket *); // in videodamage.go
int decoderAnswered(int);

typedef int (*sendPacket)(AVCodecContext *, const AVPacket *);
typedef int (*receiveFrame)(AVCodecContext *, AVFrame *);

static int realReceive(AVCodecContext *c, AVFrame *f) {
	static receiveFrame real;
	if (!real)
		real = (receiveFrame)dlsym(RTLD_NEXT, "avcodec_receive_frame");
	int r = real ? decoderAnswered(real(c, f)) : AVERROR(ENOSYS);
	given |= r >= 0;
	return r;
}

static int realSend(AVCodecContext *c, const AVPacket *p) {
	static sendPacket real;
	if (!real)
		real = (sendPacket)dlsym(RTLD_NEXT, "avcodec_send_packet");
	return real ? real(c, p) : AVERROR(ENOSYS);
}

// hold takes the frames that the decoder is done with.
static void hold(AVCodecContext *c) {
	while (heldCount < HELD) {
		AVFrame *f = av_frame_alloc();
		if (!f)
			return;
		if (realReceive(c, f) < 0) {
			av_frame_free(&f);
			return;
		}
		held[heldCount++] = f;
	}
}

// empty takes all frames out of the decoder, which forgets what it has decoded. One of H.264 that began at a key frame
// behind which pictures may be shown before it holds back what it was given before that came out, and would drop it
// now as being unfit. What is shown behind one that came out is fit, however, and nothing else is left then.
static void empty(AVCodecContext *c) {
	int flags = c->flags;
	if (given)
		c->flags |= AV_CODEC_FLAG_OUTPUT_CORRUPT;
	realSend(c, NULL);
	hold(c);
	c->flags = flags;
	avcodec_flush_buffers(c);
	given = 0;
}

// avcodec_send_packet stands in front of libavcodec's: what comes before a piece is taken
// out of the decoder and the decoder forgets it.
int avcodec_send_packet(AVCodecContext *c, const AVPacket *p) {
	int begins = 0;
	sent = 1;
	for (; pieceCount > 0 && p && p->size > 0 && p->pts >= *pieceStarts; pieceCount--, pieceStarts++)
		begins = 1;
	if (begins)
		empty(c);
	packetSent(p);
	return decoderAnswered(realSend(c, p));
}

// receivePiece is libavcodec's avcodec_receive_frame, for videosizes.go, which stands in front
// of that: what was taken out comes first, a frame for each packet, since OpenCV 4.6 does not
// look at the time of a second one.
int receivePiece(AVCodecContext *c, AVFrame *f) {
	if (heldCount == 0)
		return realReceive(c, f);
	if (!sent)
		return AVERROR(EAGAIN);
	sent = 0;
	hold(c);
	av_frame_unref(f);
	av_frame_move_ref(f, held[0]);
	av_frame_free(&held[0]);
	memmove(held, held + 1, sizeof(*held) * --heldCount);
	return 0;
}

static void separatePieces(const int64_t *starts, int n) {
	pieceStarts = starts;
	pieceCount = n;
	given = 0;
	while (heldCount > 0)
		av_frame_free(&held[--heldCount]);
}
*/
import "C"

import "runtime"

// separately has the pieces of a clip, which this goroutine has OpenCV read, decoded each
// for itself, until the function that it returns is called. Key frames of H.264, H.265 and MPEG-4
// leave something of what was decoded before, and where one of VP8, VP9 or AV1 is lost, what rests
// on it is decoded with what was there before.
func (v *video) separately(list []piece) (done func()) {
	switch v.stream.codecpar.codec_id {
	case C.AV_CODEC_ID_H264, C.AV_CODEC_ID_HEVC, C.AV_CODEC_ID_MPEG4, C.AV_CODEC_ID_VP8, C.AV_CODEC_ID_VP9, C.AV_CODEC_ID_AV1:
	default:
		return func() {}
	}
	runtime.LockOSThread()
	starts, n := make([]C.int64_t, 0, len(list)), 0
	for i, p := range list {
		n += p.to - p.from
		if i == len(list)-1 || p.to < list[i+1].from {
			starts = append(starts, C.int64_t(n*clipTick)) // of the next one, or of what follows the last
		}
	}
	for i := 1; i < clipTail; i++ { // the same key frame over and over, which H.265 takes for an error
		starts = append(starts, C.int64_t((n+i)*clipTick))
	}
	var pinner runtime.Pinner
	pinner.Pin(&starts[0])
	C.separatePieces(&starts[0], C.int(len(starts)))
	return func() {
		C.separatePieces(nil, 0)
		pinner.Unpin()
		runtime.UnlockOSThread()
	}
}

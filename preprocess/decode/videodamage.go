//go:build gocv_specific_modules

package decode

/*
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libavutil/log.h>

// Packets of a clip that are known to be damaged at most: the first ones say enough.
#define DAMAGED 256

static __thread int64_t damaged[DAMAGED]; // their times, in order
static __thread int damagedCount, damageWatched;
static __thread int lacked; // whether a decoder had no memory for a picture
static __thread int64_t sentAt; // the time of the packet that the decoder was given last

static void tellDamage(void) {
	if (damageWatched && damagedCount < DAMAGED && (damagedCount == 0 || damaged[damagedCount - 1] != sentAt))
		damaged[damagedCount++] = sentAt;
}

// packetSent is told of each packet before the decoder is, and decoderAnswered of what it answers:
// an error but for those that ask for more, or say that nothing is left.
void packetSent(const AVPacket *p) { sentAt = p ? p->pts : AV_NOPTS_VALUE; }

int decoderAnswered(int r) {
	if (r == AVERROR(ENOMEM))
		lacked = 1;
	if (r < 0 && r != AVERROR(EAGAIN) && r != AVERROR_EOF)
		tellDamage();
	return r;
}

// decoderSaid is told of what the libraries log. These errors cost a part of a picture, which the
// decoder makes up without saying so by its answer, or on the picture.
void decoderSaid(void *who, int level, const char *what) {
	static const char *costs[] = {
		"Could not find ref with POC", "Error constructing the reference lists", "First slice in a frame missing", // H.265
		"overread ", "error count: ", "error y=", "mjpeg_decode_dc: bad vlc", "error dc", // MJPEG
	};
	if (!damageWatched || level > AV_LOG_ERROR || !who)
		return;
	const AVClass *class = *(const AVClass **)who;
	if ((class->get_category ? class->get_category(who) : class->category) != AV_CLASS_CATEGORY_DECODER)
		return;
	for (size_t i = 0; i < sizeof(costs) / sizeof(*costs); i++)
		if (!strncmp(what, costs[i], strlen(costs[i])))
			tellDamage();
}

static void forgetMemory(void) { lacked = 0; }

static int lackedMemory(void) { return lacked; }

static void watchDamage(int on) {
	damageWatched = on;
	damagedCount = 0;
}

static int damagedPackets(int64_t **at) {
	*at = damaged;
	return damagedCount;
}
*/
import "C"

import (
	"runtime"
	"slices"
	"unsafe"
)

// watchDamage looks for packets of a clip that the decoder finds damaged, until the function that
// it returns is called: that says whether pictures rest on them that were to be taken. In other
// codecs pictures themselves tell.
func (v *video) watchDamage(list []piece, targets []target, reels []*reel) (done func()) {
	switch v.stream.codecpar.codec_id {
	case C.AV_CODEC_ID_HEVC, C.AV_CODEC_ID_VP8, C.AV_CODEC_ID_VP9, C.AV_CODEC_ID_AV1, C.AV_CODEC_ID_MJPEG:
	default:
		return func() {}
	}
	runtime.LockOSThread()
	C.watchDamage(1)
	return func() {
		var times *C.int64_t
		count := int(C.damagedPackets(&times))
		for _, at := range unsafe.Slice(times, count) {
			v.patched = v.patched || at >= 0 && wanted(list, targets, reels, ordinalOf(list, int(at/clipTick)))
		}
		C.watchDamage(0)
		runtime.UnlockOSThread()
	}
}

// watchMemory has err say, once the function that it returns is called, that a decoder had no memory for a picture of
// a clip: OpenCV says only that none came. The goroutine must be locked to its thread. That of H.265 answers the same
// where damage has it keep more pictures than there may be.
func (v *video) watchMemory(err *error) (done func()) {
	if v.stream.codecpar.codec_id == C.AV_CODEC_ID_HEVC {
		return func() {}
	}
	C.forgetMemory()
	return func() {
		if *err == nil && C.lackedMemory() != 0 {
			*err = errMemory
		}
	}
}

// wanted says whether something is to be taken that rests on a packet: it is that, or comes after
// it in the same piece.
func wanted(list []piece, targets []target, reels []*reel, ordinal int) bool {
	part := pieceOf(list, ordinal)
	rests := func(p int) bool { return p >= ordinal && pieceOf(list, p) == part }
	return ordinal >= 0 && (slices.ContainsFunc(targets, func(t target) bool { return rests(t.packet) }) ||
		slices.ContainsFunc(reels, func(r *reel) bool { return slices.ContainsFunc(r.packets, rests) }))
}

//go:build gocv_specific_modules

package decode

/*
#include <string.h>
#include <libavcodec/avcodec.h>
#include <libswscale/swscale.h>

int receivePiece(AVCodecContext *, AVFrame *); // in videopieces.go
int decoderAnswered(int); // in videodamage.go

// In videocolours.go.
int isDeclared(const AVFrame *);
void declareOf(const AVFrame *, int before[2]);
void declareAgain(const int before[2]);

static __thread int clipWidth, clipHeight, clipFormat;
static __thread AVFrame *oddFrame;
static __thread int patched; // whether the decoder has made up a part of the last picture

// keepOdd keeps a picture that is not as the clip's first one is, or not in the colours that are declared.
static int keepOdd(AVFrame *f) {
	av_frame_free(&oddFrame);
	if (f->width == clipWidth && f->height == clipHeight) {
		if (clipFormat == AV_PIX_FMT_NONE)
			clipFormat = f->format;
		if (f->format == clipFormat && isDeclared(f))
			return 0;
	}
	oddFrame = av_frame_clone(f);
	return oddFrame ? 0 : AVERROR(ENOMEM);
}

// avcodec_receive_frame stands in front of libavcodec's: OpenCV 4.6 goes on converting
// pictures by the size that the first one had, and reads beyond those that are smaller.
// What is of another size, in another format, or in other colours, is kept for us to convert. Threads that
// are not reading a clip get the library's answer. What a decoder makes up it tells here alone.
int avcodec_receive_frame(AVCodecContext *c, AVFrame *f) {
	int r = receivePiece(c, f);
	if (r >= 0 && clipWidth > 0 && c->codec_type == AVMEDIA_TYPE_VIDEO) {
		patched = f->decode_error_flags != 0;
		r = decoderAnswered(keepOdd(f));
	}
	return r;
}

static void expectSize(int w, int h) {
	clipWidth = w;
	clipHeight = h;
	clipFormat = AV_PIX_FMT_NONE;
	av_frame_free(&oddFrame);
}

static int isPatched(void) { return patched; }

static void oddSize(int *w, int *h) {
	*w = oddFrame ? oddFrame->width : 0;
	*h = oddFrame ? oddFrame->height : 0;
}

// oddPicture writes the picture that was kept to pix, as OpenCV would have. Its rows need
// room behind them while they are converted.
static int oddPicture(uint8_t *pix) {
	AVFrame *f = oddFrame, *to = av_frame_alloc();
	struct SwsContext *s = NULL;
	int r = AVERROR(ENOMEM), before[2];
	declareOf(f, before);
	if (to) {
		to->format = AV_PIX_FMT_BGR24;
		to->width = f->width;
		to->height = f->height;
		if ((r = av_frame_get_buffer(to, 0)) >= 0 &&
			!(s = sws_getCachedContext(NULL, f->width, f->height, f->format, f->width, f->height,
				AV_PIX_FMT_BGR24, SWS_BICUBIC, NULL, NULL, NULL)))
			r = AVERROR(EINVAL);
		if (r >= 0)
			r = sws_scale(s, (const uint8_t *const *)f->data, f->linesize, 0, f->height, to->data, to->linesize);
		for (int y = 0; r >= 0 && y < f->height; y++)
			memcpy(pix + (size_t)y * f->width * 3, to->data[0] + (size_t)y * to->linesize[0], (size_t)f->width * 3);
	}
	declareAgain(before);
	sws_freeContext(s);
	av_frame_free(&to);
	return decoderAnswered(r);
}
*/
import "C"

import (
	"unsafe"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// watchSizes has pictures that this thread has a capture decode told apart by whether they
// are of its size, until the function that it returns is called. The goroutine must be
// locked to the thread.
func watchSizes(capture *gocv.VideoCapture) (done func()) {
	C.expectSize(C.int(capture.Get(gocv.VideoCaptureFrameWidth)), C.int(capture.Get(gocv.VideoCaptureFrameHeight)))
	return func() { C.expectSize(0, 0) }
}

// isPatched says whether the decoder has made up a part of the picture that was grabbed last.
func isPatched() bool { return C.isPatched() != 0 }

// retrieve converts the picture that was grabbed last into mat, and says whether there is
// one, within the limit. Recordings of calls change their size with the network.
func retrieve(capture *gocv.VideoCapture, mat *gocv.Mat, l preprocess.Limits) bool {
	var w, h C.int
	C.oddSize(&w, &h)
	if w == 0 {
		return capture.Retrieve(mat) && within(*mat, l)
	}
	if int64(w)*int64(h) > l.Pixels {
		return false
	}
	odd := gocv.NewMatWithSize(int(h), int(w), gocv.MatTypeCV8UC3)
	pix, err := odd.DataPtrUint8()
	if err != nil || C.oddPicture((*C.uint8_t)(unsafe.SliceData(pix))) < 0 {
		closeMat(&odd)
		return false
	}
	closeMat(mat)
	*mat = odd
	return true
}

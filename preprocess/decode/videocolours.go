//go:build gocv_specific_modules

package decode

/*
#cgo pkg-config: libswscale
#define _GNU_SOURCE
#include <dlfcn.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>

typedef struct SwsContext *(*cachedContext)(struct SwsContext *, int, int, enum AVPixelFormat, int, int,
	enum AVPixelFormat, int, SwsFilter *, SwsFilter *, const double *);

static __thread int declaredMatrix = AVCOL_SPC_UNSPECIFIED, declaredFull = 0;

// sws_getCachedContext stands in front of libswscale's: OpenCV before 4.13 converts by
// BT.601 whatever the stream declares, with no option for another matrix, and takes for
// full range only what its pixel format says, as H.264 and H.265 of 8 bits and MJPEG do.
// Threads that have declared neither get the library's answer.
struct SwsContext *sws_getCachedContext(struct SwsContext *c, int w, int h, enum AVPixelFormat from, int toW, int toH,
	enum AVPixelFormat to, int flags, SwsFilter *source, SwsFilter *target, const double *param) {
	static cachedContext real;
	int *table, *other, full, otherFull, brightness, contrast, saturation;
	if (!real)
		real = (cachedContext)dlsym(RTLD_NEXT, "sws_getCachedContext");
	c = real ? real(c, w, h, from, toW, toH, to, flags, source, target, param) : NULL;
	if (c && (declaredMatrix != AVCOL_SPC_UNSPECIFIED || declaredFull) && declaredMatrix != AVCOL_SPC_RGB &&
		sws_getColorspaceDetails(c, &table, &full, &other, &otherFull, &brightness, &contrast, &saturation) >= 0)
		sws_setColorspaceDetails(c, declaredMatrix != AVCOL_SPC_UNSPECIFIED ? sws_getCoefficients(declaredMatrix) : table,
			full || declaredFull, other, otherFull, brightness, contrast, saturation);
	return c;
}

// fullByFormat says whether a pixel format means full range by itself.
static int fullByFormat(int f) {
	return f == AV_PIX_FMT_YUVJ420P || f == AV_PIX_FMT_YUVJ422P || f == AV_PIX_FMT_YUVJ444P || f == AV_PIX_FMT_YUVJ440P ||
		f == AV_PIX_FMT_YUVJ411P;
}

// isDeclared says whether a picture is coded as is declared, or says nothing else. Where films were joined,
// it may not be.
int isDeclared(const AVFrame *f) {
	if (f->colorspace != AVCOL_SPC_UNSPECIFIED && f->colorspace != declaredMatrix)
		return 0;
	return f->color_range == AVCOL_RANGE_UNSPECIFIED || fullByFormat(f->format) ||
		(f->color_range == AVCOL_RANGE_JPEG) == declaredFull;
}

// declareOf declares what a picture says of itself, until declareAgain is told what was before.
void declareOf(const AVFrame *f, int before[2]) {
	before[0] = declaredMatrix;
	before[1] = declaredFull;
	if (f->colorspace != AVCOL_SPC_UNSPECIFIED)
		declaredMatrix = f->colorspace;
	if (f->color_range != AVCOL_RANGE_UNSPECIFIED)
		declaredFull = f->color_range == AVCOL_RANGE_JPEG;
}

void declareAgain(const int before[2]) {
	declaredMatrix = before[0];
	declaredFull = before[1];
}

static void declareColours(AVStream *s) {
	declaredMatrix = s ? s->codecpar->color_space : AVCOL_SPC_UNSPECIFIED;
	declaredFull = s && s->codecpar->color_range == AVCOL_RANGE_JPEG;
}
*/
import "C"

import "runtime"

// inColoursOf has pictures that this goroutine has OpenCV retrieve converted by the
// matrix and the range that a stream declares, until the function that it returns is called.
func inColoursOf(s *C.AVStream) (done func()) {
	runtime.LockOSThread()
	C.declareColours(s)
	return func() {
		C.declareColours(nil)
		runtime.UnlockOSThread()
	}
}

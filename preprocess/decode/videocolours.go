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

// declareMatrix declares another matrix, of a picture of its own, and returns the one before.
int declareMatrix(int matrix) {
	int before = declaredMatrix;
	declaredMatrix = matrix;
	return before;
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

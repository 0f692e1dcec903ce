//go:build gocv_specific_modules

package decode

/*
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

static __thread long decoderThreads;

// sysconf stands in front of the C library's. OpenCV 4.6 starts as many decoder
// threads as this says there are processors, with no option to ask for fewer:
// on a large machine that is more stacks than a child's address space holds.
// Threads that have not asked for a bound get the C library's answer.
long sysconf(int name) {
	static long (*real)(int);
	if (!real)
		real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
	long n = real ? real(name) : -1;
	if (name == _SC_NPROCESSORS_ONLN && decoderThreads > 0 && n > decoderThreads)
		return decoderThreads;
	return n;
}

static void boundDecoderThreads(long n) { decoderThreads = n; }
*/
import "C"

import (
	"runtime"

	"gocv.io/x/gocv"
)

// clipThreads is how many threads decode one video. Several race with each other where a
// decoder makes up what is damaged, so that the same film comes out differently each time,
// and there are as many children as processors: more would mostly take turns.
const clipThreads = 1

// openBounded has OpenCV open a video that clipThreads threads decode.
func openBounded(name string) (*gocv.VideoCapture, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	C.boundDecoderThreads(clipThreads)
	defer C.boundDecoderThreads(0)
	return gocv.OpenVideoCaptureWithAPI(name, gocv.VideoCaptureFFmpeg)
}

//go:build gocv_specific_modules && matprofile

package decode

/*
#cgo pkg-config: libavutil
#include <libavutil/mem.h>
*/
import "C"

// boundAllocations makes every allocation of FFmpeg of n bytes or more fail, in
// the whole process; it is built for tests only, which have no cgo of their own.
func boundAllocations(n int) { C.av_max_alloc(C.size_t(n)) }

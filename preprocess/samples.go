package preprocess

import "unsafe"

// samplesOf are n samples at the start of mapped, which is the start of a page and
// so aligned.
func samplesOf(mapped []byte, n int) []int16 {
	return unsafe.Slice((*int16)(unsafe.Pointer(&mapped[0])), n)
}

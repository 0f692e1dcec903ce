package preprocess

import "unsafe"

// samplesOf are n samples at the start of mapped, which is the start of a page and
// so aligned.
func samplesOf(mapped []byte, n int) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(&mapped[0])), n)
}

// sound says whether every sample is a number in [-1, 1]. Samples are the start of a
// page, so two of them are read at a time: without their signs, numbers are in the order
// of their bits, those above 1 and what is no number last. What is added carries just
// these over into the bit of the sign.
func sound(samples []float32) bool {
	const (
		unsigned = 0x7fffffff_7fffffff
		beyond   = 0x407fffff_407fffff // 0x7fffffff less the bits of 1
		signs    = 0x80000000_80000000
	)
	pairs := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(samples))), len(samples)/2)
	var carried uint64
	for _, p := range pairs {
		carried |= p&unsigned + beyond
	}
	if n := len(samples); n%2 == 1 && !(samples[n-1] >= -1 && samples[n-1] <= 1) { // false for NaN, too
		return false
	}
	return carried&signs == 0
}

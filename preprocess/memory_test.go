package preprocess_test

import (
	"testing"

	"deepfaked/preprocess"
)

// TestPicturesBeyondTheMemory: a picture for which a decoder had no memory was said to be damaged, since that is what
// its libraries make of it.
func TestPicturesBeyondTheMemory(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("memory cannot be bounded under the race detector")
	}
	opts := poolOptions(t, "decode")
	opts.Children, opts.MemoryBytes = 1, 2<<30 // most of which libraries take
	pool := newPool(t, opts)
	for side, fits := range map[uint32]bool{3500: true, 7990: false} { // what fits itself has to be unpacked somewhere
		_, err := decodeBytes(t, pool, greyWithAlpha(t, side), "")
		if err == nil && fits {
			continue // libraries are smaller here
		}
		fault(t, err, preprocess.UnsupportedMediaType, "could not be decoded safely")
	}
}

package inference

import (
	"math"
	"slices"

	"deepfaked/preprocess"
)

// noiseless is up to how far from its level a sound is rounding and nothing else: one step of 16 bits.
const noiseless = 1.0 / (1 << 15)

// ripple is how much of a level a change of the rate may add to it.
const ripple = 1.0 / (1 << 11)

// silent says whether a window is digital silence, which says nothing of who speaks. That is any level which
// stays: A-law has no zero, and what it has in its place is eight steps beside it.
func silent(w preprocess.Window) bool {
	low, high := float32(math.Inf(1)), float32(math.Inf(-1))
	for _, x := range w.Samples {
		if low, high = min(low, x), max(high, x); high-low > 2*noiseless+ripple*max(high, -low) {
			return false
		}
	}
	return true
}

// mute says whether there are windows and all of them are silent.
func mute(media *preprocess.Media) bool {
	return len(media.Windows) > 0 && !slices.ContainsFunc(media.Windows, func(w preprocess.Window) bool { return !silent(w) })
}

// leftOut are the notes on a file.
func leftOut(media *preprocess.Media) []preprocess.Note {
	if media.Kind != preprocess.Video || !mute(media) {
		return media.Notes
	}
	return append([]preprocess.Note{preprocess.SoundSilent}, media.Notes...)
}

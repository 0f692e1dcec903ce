package inference

import (
	"math"
	"slices"

	"deepfaked/preprocess"
)

// fullScale is the level of a sample that stands for 1.
const fullScale = 1 << 15

// noiseless is up to how far from its level a sound is rounding and nothing else.
const noiseless = 1

// ripple is by which part of a level a change of the rate may make it rise and fall.
const ripple = 1 << 11

// silent says whether a window is digital silence, which says nothing of who speaks. That is any level which
// stays: A-law has no zero, and what it has in its place is eight steps beside it.
func silent(w preprocess.Window) bool {
	low, high := math.MaxInt, math.MinInt
	for _, x := range w.Samples {
		if low, high = min(low, int(x)), max(high, int(x)); ripple*(high-low-2*noiseless) > max(high, -low) {
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

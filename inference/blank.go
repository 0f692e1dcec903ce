package inference

import (
	"slices"

	"deepfaked/preprocess"
)

// flat is by how many of 256 steps the pixels of an empty picture may differ in each colour, as what a
// coder makes of one colour does.
const flat = 2

// blank says whether a picture is of one colour, which says nothing of who made it.
func blank(f preprocess.Frame) bool {
	low, high := [3]byte{255, 255, 255}, [3]byte{}
	for i, v := range f.Pix {
		c := i % 3
		if low[c], high[c] = min(low[c], v), max(high[c], v); high[c]-low[c] > flat {
			return false
		}
	}
	return true
}

// empty says whether there are pictures and all of them are blank.
func empty(media *preprocess.Media) bool {
	return len(media.Frames) > 0 && !slices.ContainsFunc(media.Frames, func(f preprocess.Frame) bool { return !blank(f) })
}

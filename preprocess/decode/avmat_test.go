//go:build gocv_specific_modules && matprofile

package decode

import (
	"testing"

	"gocv.io/x/gocv"

	"deepfaked/preprocess"
)

// TestVideoLeavesNoMats counts the matrices that are left after videos of every
// fate. It runs alone: the count is the process's.
func TestVideoLeavesNoMats(t *testing.T) {
	master := clock(t, 1)
	moving := inMotion()
	moving.StretchFrames = 5
	before := gocv.MatProfile.Count()
	file := read(t, encode(t, master, "x.mp4", "-c:v", "libx264", "-c:a", "aac", "-movflags", "faststart"))
	for _, content := range [][]byte{file, file[:len(file)/2], file[:len(file)/10]} {
		_, _ = decodeBytes(t, content, preprocess.MP4, preprocess.DefaultLimits())
		_, _ = decodeBytes(t, content, preprocess.MP4, moving)
	}
	path := encode(t, master, "y.mp4", "-c:v", "libx264", "-an")
	d, err := decodeBytes(t, turned(t, path, [4]int32{0, 1, 1, 0}), preprocess.MP4, moving)
	if err != nil || len(d.arena.Stretches()) != 2 {
		t.Fatalf("%d stretches, %v", len(d.arena.Stretches()), err)
	}
	if n := gocv.MatProfile.Count(); n != before {
		t.Fatalf("%d matrices have become %d", before, n)
	}
}

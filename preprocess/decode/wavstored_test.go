//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestStoredWindowsAreThoseOfTheWholeSound: samples that lie in the file as they are
// judged used to go through floating point, the mixer and the rounding like all
// others, which changed none of them. They are read where they lie now, and have to
// come out the same to the last bit.
func TestStoredWindowsAreThoseOfTheWholeSound(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	for _, l.Samples = range []int{1600, wavBlock, 2*wavBlock + 3} {
		for _, frames := range []int{soundShortest, soundShortest + 1, wavBlock - 1, wavBlock, wavBlock + 1, 5*wavBlock + 7, 100_003} {
			for _, cut := range []int{0, 1, 2, 101} { // bytes that the file lacks at its end
				if 2*frames-cut < 2*soundShortest {
					continue
				}
				data := riffChunk("data", uint32(2*frames), noise(2*frames))
				for name, head := range map[string][]byte{
					"plain":      format(wavPCM, 1, soundRate, 16),
					"extensible": extensible(wavPCM, 1, soundRate, 16, wavGUID),
					"12 bits":    format(wavPCM, 1, soundRate, 12),
				} {
					file := riff("RIFF", riffChunk("junk", 3, []byte("abc")), head, data)
					t.Run(fmt.Sprintf("%s %d of %d without %d", name, frames, l.Samples, cut), func(t *testing.T) {
						t.Parallel()
						sameAsResampled(t, source(t, file[:len(file)-cut], l))
					})
				}
			}
		}
	}
}

// sameAsResampled fails unless the windows of a file are those that it has when it
// is read as a whole.
func sameAsResampled(t *testing.T, src Source) {
	t.Helper()
	got, want := newTestArena(t, 1<<26), newTestArena(t, 1<<26)
	info, err := parseWAV(src.File, src.Size)
	if err != nil || !info.judged() {
		t.Fatalf("%+v, %v", info, err)
	}
	if _, err = decodeWAV(src, got); err != nil {
		t.Fatal(err)
	}
	s := sound{limit: src.Limits.Duration}
	if err = s.resampleWAV(src, info); err == nil {
		err = s.Windows(want, src.Limits)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Windows()) != len(want.Windows()) {
		t.Fatalf("%d windows, want %d", len(got.Windows()), len(want.Windows()))
	}
	for i, w := range want.Windows() {
		if at := got.Windows()[i].At; at != w.At || !slices.Equal(window(t, got, i), window(t, want, i)) {
			t.Fatalf("window %d at %v is not that of the whole sound, at %v", i, at, w.At)
		}
	}
}

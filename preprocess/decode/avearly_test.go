//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// stereo is a WAV file of 16 bits whose right channel is the left one times right.
func stereo(rate, frames int, right float64) []byte {
	var data []byte
	for n := range frames {
		left := 0.4 * math.Sin(float64(n)*float64(n)/1e6)
		data = binary.LittleEndian.AppendUint16(data, uint16(int16(left*fullScale)))
		data = binary.LittleEndian.AppendUint16(data, uint16(int16(right*left*fullScale)))
	}
	return riff("RIFF", format(wavPCM, 2, rate, 16), riffChunk("data", uint32(len(data)), data))
}

// TestEarlyWindows: whatever is told of while a sound is still being read, in the
// end its windows are those of the whole sound.
func TestEarlyWindows(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	l.Samples = 8000
	for name, c := range map[string]struct {
		rate, frames int
		right        float64
		told, kept   int
	}{
		"one window":               {16_000, 11_000, 1, 0, 0},
		"two":                      {16_000, 16_000, 1, 1, 1},
		"three":                    {44_100, 3 * 22_050, 1, 2, 2},
		"windows that overlap":     {16_000, 160_000, 1, 38, 38},
		"overlapping, resampled":   {48_000, 240_097, 1, 18, 18}, // only the last begins elsewhere
		"a sample shorter":         {48_000, 72_100, 1, 2, 1},    // the second begins elsewhere
		"channels that cancel out": {44_100, 3 * 22_050, -1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := source(t, stereo(c.rate, c.frames, c.right), l)
			arena, told := newTestArena(t, 1<<24), []preprocess.WindowRef(nil)
			arena.tell = func(w preprocess.WindowRef) error {
				told = append(told, w)
				return nil
			}
			if _, err := decodeWAV(src, arena); err != nil {
				t.Fatal(err)
			}
			silent := newTestArena(t, 1<<24)
			if err := unheard(t, src).Windows(silent, l); err != nil {
				t.Fatal(err)
			}
			if len(told) != c.told || len(arena.Windows()) != len(silent.Windows()) {
				t.Fatalf("told of %d windows, want %d, and has %d in the end, want %d", len(told), c.told, len(arena.Windows()), len(silent.Windows()))
			}
			kept := 0
			for i, w := range arena.Windows() {
				if w.At != silent.Windows()[i].At || !slices.Equal(window(t, arena, i), window(t, silent, i)) {
					t.Fatalf("window %d at %v is not that of the whole sound", i, w.At)
				}
				if i < len(told) && told[i] == w {
					kept++
				}
			}
			if kept != c.kept {
				t.Fatalf("%d of the windows told of stay, want %d", kept, c.kept)
			}
		})
	}
}

func source(t *testing.T, content []byte, l preprocess.Limits) Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sound.wav")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return Source{File: f, Size: int64(len(content)), Format: preprocess.WAV, Limits: l}
}

// unheard is the sound of a file of which nothing is told early.
func unheard(t *testing.T, src Source) *sound {
	t.Helper()
	info, err := parseWAV(src.File, src.Size)
	if err != nil {
		t.Fatal(err)
	}
	s := &sound{limit: src.Limits.Duration}
	if err = s.readWAV(src, info); err == nil && s.mix.Lost() {
		s = &sound{limit: src.Limits.Duration, mix: s.mix.Loudest()}
		err = s.readWAV(src, info)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

package decode

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// TestWindowStarts compares with what window_starts of scripts/train/speech/audio.py returns, and starts of stretch.py
// where windows overlap: the expectations were computed by them, apart from the first.
func TestWindowStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		n, most int
		want    []int
	}{
		"nothing":                   {0, 16, nil},
		"a single sample":           {1, 16, []int{0}},
		"a tenth of a second":       {1_600, 16, []int{0}},
		"exactly one":               {64_000, 16, []int{0}},
		"less than one and a half":  {95_999, 16, []int{15_999}},
		"one and a half":            {96_000, 16, []int{0, 32_000}},
		"two and a bit":             {130_000, 16, []int{0, 66_000}},
		"less than two and a half":  {159_999, 16, []int{0, 95_999}},
		"two and a half":            {160_000, 16, []int{0, 48_000, 96_000}},
		"rounded down":              {200_003, 16, []int{0, 68_001, 136_003}},
		"sixteen seconds":           {256_000, 16, []int{0, 64_000, 128_000, 192_000}},
		"more than wanted":          {300_001, 4, []int{0, 78_667, 157_334, 236_001}},
		"only one wanted":           {300_001, 1, []int{118_000}},
		"half an hour, two windows": {28_800_000, 2, []int{0, 28_736_000}},
		"less than four and a half": {287_999, 900, []int{0, 74_666, 149_332, 223_999}},
		"four and a half":           {288_000, 900, []int{0, 32_768, 65_536, 98_304, 131_072, 163_840, 196_608, 224_000}},
		"eight windows of a minute": {960_000, 8, []int{0, 129_024, 258_048, 387_072, 516_096, 645_120, 774_144, 896_000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := preprocess.Limits{Windows: tc.most, Samples: 64_000}
			if got := windowStarts(tc.n, l); !slices.Equal(got, tc.want) {
				t.Fatalf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSoundKeepsEverySample(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Hour}
	block := make([]float32, 70_001)
	for i := range 10 {
		for j := range block {
			block[j] = float32((i*len(block)+j)%1000) / 1024
		}
		if err := s.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	l := preprocess.Limits{Windows: 3, Samples: 200_000}
	arena := newTestArena(t, 1<<24)
	if err := s.Windows(arena, l); err != nil {
		t.Fatal(err)
	}
	for i, start := range []int{0, 250_005, 500_010} {
		if at := arena.Windows()[i].At; at != soundTime(start) {
			t.Fatalf("window %d at %v", i, at)
		}
		w := window(t, arena, i)
		for j, x := range w {
			if want := float32((start+j)%1000) / 1024; x != want {
				t.Fatalf("window %d, sample %d is %v, want %v", i, j, x, want)
			}
		}
	}
}

func TestShortSoundIsRepeated(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Hour}
	if err := s.Write([]float32{0.125, 0.25, 0.375}); err != nil {
		t.Fatal(err)
	}
	arena := newTestArena(t, 1<<20)
	if err := s.Windows(arena, preprocess.Limits{Windows: 4, Samples: 8}); err != nil {
		t.Fatal(err)
	}
	if got := window(t, arena, 0); !slices.Equal(got, []float32{0.125, 0.25, 0.375, 0.125, 0.25, 0.375, 0.125, 0.25}) {
		t.Fatalf("got %v", got)
	}
}

func TestSoundCleansItsSamples(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Hour}
	const step = 1.0 / 32768
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	if err := s.Write([]float32{nan, inf, -inf, 3, -3, 1.4 * step, -1.6 * step, 2.5 * step, 1 - 0.4*step}); err != nil {
		t.Fatal(err)
	}
	got := make([]int16, 9)
	if err := s.read(got, 0); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int16{0, 0, 0, 32767, -32768, 1, -2, 2, 32767}) {
		t.Fatalf("got %v", got)
	}
}

func TestSoundStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	s := sound{limit: 2 * time.Second}
	block := make([]float32, soundRate)
	for i := range 3 {
		if err := s.Write(block); err != nil {
			t.Fatalf("second %d: %v", i, err)
		}
	}
	var fault *preprocess.Error
	if err := s.Write(block); !errors.As(err, &fault) || fault.Code != preprocess.PayloadTooLarge {
		t.Fatalf("got %v", err)
	}
}

// TestTooLongMakesSense: files that are a moment too long were told that they last
// at least as long as is allowed.
func TestTooLongMakesSense(t *testing.T) {
	t.Parallel()
	const limit = 30 * time.Minute
	for length, says := range map[time.Duration]string{
		limit + 200*time.Millisecond: "lasts more than 30m0s; at most 30m0s are",
		limit + time.Second:          "lasts at least 30m1s; at most 30m0s are",
		time.Hour + time.Millisecond: "lasts at least 1h0m0s; at most 30m0s are",
	} {
		if err := tooLong(length, limit); !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v", length, err)
		}
	}
}

// TestSoundIsBoundedByItsSamples: a FLAC file of 645 kB, of 655,350 Hz and eight channels that do not change, had a
// decoder for a minute though it keeps every limit of length. Its client was told that the service had failed
// or that the file could not be decoded safely, and of no limit.
func TestSoundIsBoundedByItsSamples(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rate, channels int
		length         time.Duration
		fits           bool
	}{
		"a night of stereo": {48_000, 2, 3 * time.Hour, true},
		"a film of 7.1":     {48_000, 8, 2 * time.Hour, true},
		"constants":         {655_350, 8, 1799 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const frame = 4096
			s, err := sound{}, error(nil)
			for left := tc.rate * int(tc.length/time.Second); left > 0 && err == nil; left -= frame {
				err = s.hear(min(left, frame), tc.channels)
			}
			if tc.fits != (err == nil) {
				t.Fatal(err)
			}
			if fault := (*preprocess.Error)(nil); !tc.fits && (!errors.As(err, &fault) || fault.Code != preprocess.PayloadTooLarge) {
				t.Error(err)
			}
		})
	}
}

// window is what an arena holds of window i, from -1 to 1.
func window(t *testing.T, a *Arena, i int) []float32 {
	t.Helper()
	ref := a.Windows()[i]
	raw := make([]byte, ref.Samples*preprocess.SampleBytes)
	if _, err := a.file.ReadAt(raw, ref.Offset); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, ref.Samples)
	for j := range out {
		out[j] = float32(int16(binary.NativeEndian.Uint16(raw[2*j:]))) / fullScale
	}
	return out
}

package decode

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

func TestWindowStarts(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		n, windows, samples int
		want                []int
	}{
		"nothing":          {0, 4, 100, nil},
		"short":            {30, 4, 100, []int{0}},
		"exactly one":      {100, 4, 100, []int{0}},
		"one and a bit":    {101, 4, 100, []int{0, 1}},
		"two and a half":   {250, 4, 100, []int{0, 75, 150}},
		"rounded":          {300 + 1, 4, 100, []int{0, 67, 134, 201}},
		"more than wanted": {100_000, 3, 100, []int{0, 49_950, 99_900}},
		"only one wanted":  {301, 1, 100, []int{100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := preprocess.Limits{Windows: tc.windows, Samples: tc.samples}
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
			block[j] = float32((i*len(block)+j)%1000) / 1000
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
			if want := float32((start+j)%1000) / 1000; x != want {
				t.Fatalf("window %d, sample %d is %v, want %v", i, j, x, want)
			}
		}
	}
}

func TestShortSoundIsRepeated(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Hour}
	if err := s.Write([]float32{0.1, 0.2, 0.3}); err != nil {
		t.Fatal(err)
	}
	arena := newTestArena(t, 1<<20)
	if err := s.Windows(arena, preprocess.Limits{Windows: 4, Samples: 8}); err != nil {
		t.Fatal(err)
	}
	if got := window(t, arena, 0); !slices.Equal(got, []float32{0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1, 0.2}) {
		t.Fatalf("got %v", got)
	}
}

func TestSoundCleansItsSamples(t *testing.T) {
	t.Parallel()
	s := sound{limit: time.Hour}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	if err := s.Write([]float32{nan, inf, -inf, 3, -3}); err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 5)
	s.read(got, 0)
	if !slices.Equal(got, []float32{0, 0, 0, 1, -1}) {
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

// window is what an arena holds of window i.
func window(t *testing.T, a *Arena, i int) []float32 {
	t.Helper()
	ref := a.Windows()[i]
	raw := make([]byte, ref.Samples*4)
	if _, err := a.file.ReadAt(raw, ref.Offset); err != nil {
		t.Fatal(err)
	}
	return floats(raw)
}

// floats reads samples as they lie in memory.
func floats(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(raw[4*i:]))
	}
	return out
}

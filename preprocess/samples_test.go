package preprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSoundFindsEverySampleOutOfRange sets each bit pattern near the ends of the range,
// and some at random, at each place of a short window: samples are looked at two at a
// time, by their bits, and one that slipped through would reach a model.
func TestSoundFindsEverySampleOutOfRange(t *testing.T) {
	t.Parallel()
	plain := func(s float32) bool { return s >= -1 && s <= 1 }
	one, infinite := math.Float32bits(1), math.Float32bits(float32(math.Inf(1)))
	patterns := []uint32{0, 1, one - 1, one, one + 1, infinite - 1, infinite, infinite + 1, math.MaxInt32}
	random := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		patterns = append(patterns, random.Uint32())
	}
	for _, bits := range patterns {
		for _, s := range []float32{math.Float32frombits(bits), math.Float32frombits(bits | 1<<31)} {
			for n := range 6 {
				for at := range n {
					window := make([]float32, n)
					for i := range window {
						window[i] = float32(1 - 2*(i%2))
					}
					window[at] = s
					if got := sound(window); got != plain(s) {
						t.Fatalf("%d samples with %v at %d: %v", n, s, at, got)
					}
				}
			}
		}
	}
}

func BenchmarkSound(b *testing.B) {
	window := make([]float32, 64600)
	b.SetBytes(int64(4 * len(window)))
	for b.Loop() {
		if !sound(window) {
			b.Fatal("silence is out of range")
		}
	}
}

package ort

import (
	"slices"
	"testing"

	"deepfaked/models"
)

// TestSessionsApart covers the way that CUDA runs: each size has a session of its own, since
// one that runs several plans its convolutions anew at every change. On an H200 three in four
// requests of the first seconds at a new load were refused for that.
func TestSessionsApart(t *testing.T) {
	env := openEnvironment(t, nil)
	model := bytesModel(t)
	s, err := newSession(model, 16, placement{provider: env.Provider(), apart: true}, env.settings())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if len(s.inner) != len(s.Sizes()) {
		t.Errorf("%d sessions for %d sizes", len(s.inner), len(s.Sizes()))
	}
	for n := 1; n <= 16; n++ {
		checkRun(t, s, n, n*10)
	}
	row := models.Row{U8: make([]byte, 48)}
	model.Card.Golden = models.Golden{Pattern: "lcg", Tolerance: 1e-4}
	model.Card.Golden.Fill(row)
	model.Card.Golden.Output = want(row)
	if err := Golden(s, model.Card); err != nil {
		t.Error(err)
	}
}

// TestLimitOf: the session of 64 rows got as little of the memory as that of one.
func TestLimitOf(t *testing.T) {
	t.Parallel()
	for i, want := range []int64{104, 117, 168, 237, 374} {
		if got := limitOf(1_000_000, []int{1, 4, 16, 32, 64}, i); got < 1000*(want-1) || got > 1000*(want+1) {
			t.Errorf("size %d may take %d of 1,000,000, want about %d thousand", i, got, want)
		}
	}
	if limitOf(0, []int{1, 4}, 1) != 0 {
		t.Error("no limit became one")
	}
}

func TestWarmedSizes(t *testing.T) {
	t.Parallel()
	for maxBatch, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 3}, 8: {1, 4, 8}, 13: {1, 4, 6, 13}, 64: {1, 4, 16, 32, 64}} {
		if got := gpuSizes(maxBatch); !slices.Equal(got, want) {
			t.Errorf("on a GPU up to %d: %v, want %v", maxBatch, got, want)
		}
	}
	for maxBatch, want := range map[int][]int{
		1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 3, 4, 6, 8}, 13: {1, 2, 3, 4, 6, 8, 12, 13},
	} {
		if got := sizes(maxBatch); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", maxBatch, got, want)
		}
	}
}

package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/preprocess"
)

var some = []file{{name: "a", kind: preprocess.Image}, {name: "b", kind: preprocess.Image}, {name: "c", kind: preprocess.Audio}, {name: "d"}}

func picked(t *testing.T, weights map[string]float64, seed uint64, n int) (names []string) {
	t.Helper()
	m, err := newMix(some, weights, seed)
	require.NoError(t, err)
	for range n {
		names = append(names, m.pick().name)
	}
	return names
}

func TestMix(t *testing.T) {
	t.Parallel()
	const n = 40_000
	for name, c := range map[string]struct {
		weights map[string]float64
		want    map[string]float64
	}{
		"all alike": {nil, map[string]float64{"a": .25, "b": .25, "c": .25, "d": .25}},
		"by kind":   {map[string]float64{"image": 3, "audio": 1}, map[string]float64{"a": .375, "b": .375, "c": .25}},
		"one kind":  {map[string]float64{"audio": .1}, map[string]float64{"c": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]float64{}
			for _, name := range picked(t, c.weights, 1, n) {
				got[name] += 1. / n
			}
			assert.Len(t, got, len(c.want))
			for name, share := range c.want {
				assert.InDelta(t, share, got[name], .015, name)
			}
		})
	}
	assert.Equal(t, picked(t, nil, 7, 100), picked(t, nil, 7, 100), "the same seed picks the same")
	assert.NotEqual(t, picked(t, nil, 7, 100), picked(t, nil, 8, 100))
	for _, wrong := range []map[string]float64{{"video": 1}, {"": 1}, {"image": 0}, {"image": -1}, {"image": math.NaN()}, {"image": math.Inf(1)}} {
		_, err := newMix(some, wrong, 1)
		assert.Error(t, err, wrong)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	const mp4 = "\x00\x00\x00\x18ftypisom\x00\x00\x00\x00"
	for name, c := range map[string]struct {
		name, content string
		want          preprocess.Kind
	}{
		"a picture": {"x.wav", pngBytes, preprocess.Image}, "a sound": {"x", wavBytes, preprocess.Audio},
		"a film": {"x.mp4", mp4, preprocess.Video}, "a sound in a film's container": {"X.M4A", mp4, preprocess.Audio},
		"neither": {"x.png", "notes", ""}, "nothing": {"x.png", "", ""},
	} {
		assert.Equal(t, c.want, kindOf(c.name, []byte(c.content)), name)
	}
}

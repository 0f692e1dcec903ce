package main

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"deepfaked/preprocess"
)

// mix picks files at random; the same seed picks the same. It is not safe for
// concurrent use.
type mix struct {
	random *rand.Rand
	groups []group
	total  float64 // of the weights
}

type group struct {
	weight float64
	files  []file
}

// newMix has a group for each kind that has a weight, or without weights one of
// all files.
func newMix(files []file, weights map[string]float64, seed uint64) (*mix, error) {
	m := &mix{random: random(seed)}
	if len(weights) == 0 {
		m.groups, m.total = []group{{1, files}}, 1
		return m, nil
	}
	for _, kind := range slices.Sorted(maps.Keys(weights)) {
		g := group{weight: weights[kind]}
		for _, f := range files {
			if f.kind != "" && f.kind == preprocess.Kind(kind) {
				g.files = append(g.files, f)
			}
		}
		switch {
		case len(g.files) == 0:
			return nil, fmt.Errorf("the mix names %q, and none of the files is of that kind (image, audio or video)", kind)
		case !(g.weight > 0) || math.IsInf(g.weight, 1):
			return nil, fmt.Errorf("the mix gives %s the weight %g, which is not positive", kind, g.weight)
		}
		m.groups, m.total = append(m.groups, g), m.total+g.weight
	}
	return m, nil
}

// random is another sequence than that of the arrivals.
func random(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a mix that can be repeated needs no secrecy
}

func (m *mix) pick() file {
	at := m.random.Float64() * m.total
	for _, g := range m.groups {
		if at -= g.weight; at < 0 {
			return g.files[m.random.IntN(len(g.files))]
		}
	}
	return m.groups[0].files[0] // rounding left a bit of the last weight
}

// coin falls on either side.
func (m *mix) coin() bool { return m.random.IntN(2) == 0 }

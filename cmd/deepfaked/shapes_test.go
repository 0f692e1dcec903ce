package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference/face"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestFinderLooksAtAllOfIt: the built-in finder leaves out what no picture of a batch fills.
// On a GPU each such shape was a new one, for which convolutions were planned for seconds;
// there a mark keeps it from leaving anything out, so that a picture's answer is the same
// alone and beside one that fills the input.
func TestFinderLooksAtAllOfIt(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	env, finder := onCPU(t, models.FaceDetection)
	s, err := env.NewSession(finder, 2)
	require.NoError(t, err)
	side := int(finder.Card.Input.Shape[1])
	answers := func(fill func(face.View, []byte, int), first preprocess.Frame) (alone, beside []float32) {
		fill(face.Look(first, side), s.Row(0).U8, side)
		fill(face.Look(noise(side, side), side), s.Row(1).U8, side)
		one, err := s.Run(1)
		require.NoError(t, err)
		alone = slices.Clone(one)
		two, err := s.Run(2)
		require.NoError(t, err)
		return alone, slices.Clone(two[:len(alone)])
	}
	differ := func(a, b []float32) (most float64) {
		for i := range a {
			most = max(most, math.Abs(float64(a[i]-b[i])))
		}
		return most
	}
	for name, first := range map[string]preprocess.Frame{"small": noise(200, 300), "mostly grey": framed(noise(300, 100), side)} {
		assert.Less(t, differ(answers(face.View.FillWhole, first)), 0.01, "%s: pixels and log-odds", name)
		assert.Greater(t, differ(answers(face.View.Fill, first)), 0.01, "%s: without the mark there is nothing to test", name)
	}
}

// framed is the picture at the upper left of a grey square, of the grey that surrounds pictures.
func framed(f preprocess.Frame, side int) preprocess.Frame {
	out := preprocess.Frame{Width: side, Height: side, Pix: bytes.Repeat([]byte{128}, side*side*3)}
	for y := range f.Height {
		copy(out.Pix[y*side*3:], f.Pix[y*f.Width*3:(y+1)*f.Width*3])
	}
	return out
}

// noise is a picture of any pixels, the same each time.
func noise(width, height int) preprocess.Frame {
	random := rand.New(rand.NewPCG(1, 2))
	f := preprocess.Frame{Width: width, Height: height, Pix: make([]byte, width*height*3)}
	for i := range f.Pix {
		f.Pix[i] = byte(random.IntN(256))
	}
	return f
}

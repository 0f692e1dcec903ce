package chart_test

import (
	"bytes"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/chart"
	"deepfaked/internal/measure"
)

// drawn are P(fake) of classes that lie so far apart.
func drawn(genuine, fakes int, apart float64) (s measure.Scores) {
	r := rand.New(rand.NewPCG(1, 2))
	score := func(shift float64) float64 { return 1 / (1 + math.Exp(-r.NormFloat64()-shift)) }
	for range genuine {
		s.Real = append(s.Real, score(-apart/2))
	}
	for range fakes {
		s.Fake = append(s.Fake, score(apart/2))
	}
	return s
}

func points(s measure.Scores) (out []chart.OperatingPoint) {
	for i, threshold := range []float64{.9, .7, .4} {
		called := func(scores []float64) (fake []bool) {
			for _, p := range scores {
				fake = append(fake, p >= threshold)
			}
			return fake
		}
		out = append(out, chart.OperatingPoint{Name: []string{"strict", "balanced", "sensitive"}[i], Threshold: threshold, Rates: measure.Decided(called(s.Real), called(s.Fake))})
	}
	return out
}

func TestPictures(t *testing.T) {
	t.Parallel()
	all := []string{"image-det.png", "image-histogram.png", "image-reliability.png", "image-roc.png"}
	for name, c := range map[string]struct {
		scores measure.Scores
		want   []string
	}{
		"nothing":      {measure.Scores{}, nil},
		"no fakes":     {drawn(20, 0, 1), all[1:2]},
		"all in order": {measure.Scores{Real: []float64{0}, Fake: []float64{.8, 1}}, all},
		"some":         {drawn(60, 40, 1.5), all},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, chart.Subject{Name: "image", Ranks: c.scores, Chances: c.scores, Points: points(c.scores)}.Write(dir))
			found, err := os.ReadDir(dir)
			require.NoError(t, err)
			var names []string
			for _, f := range found {
				names = append(names, f.Name())
				img := read(t, filepath.Join(dir, f.Name()))
				assert.Equal(t, image.Pt(800, 800), img.Bounds().Size())
				assert.Greater(t, inked(t, img), 20000, "%s is empty", f.Name())
			}
			assert.Equal(t, c.want, names)
		})
	}
}

func TestNoFolder(t *testing.T) {
	t.Parallel()
	s := drawn(5, 5, 1)
	err := chart.Subject{Name: "image", Ranks: s, Chances: s}.Write(filepath.Join(t.TempDir(), "absent"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestCurveFollowsTheScores: the ROC of a detector that errs nowhere runs up the
// left edge, and that of a coin along the diagonal.
func TestCurveFollowsTheScores(t *testing.T) {
	t.Parallel()
	var pictures [2][]byte
	for i, apart := range []float64{0, 9} {
		dir := t.TempDir()
		require.NoError(t, chart.Subject{Name: "audio", Ranks: drawn(90, 90, apart), Chances: drawn(90, 90, apart)}.Write(dir))
		pictures[i] = pixels(t, read(t, filepath.Join(dir, "audio-roc.png")))
	}
	differing := 0
	for i, v := range pictures[0] {
		if v != pictures[1][i] {
			differing++
		}
	}
	assert.Greater(t, differing, 5000)
}

func read(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	return img
}

// inked counts the bytes that are not those of white.
func inked(t *testing.T, img image.Image) int {
	t.Helper()
	pix := pixels(t, img)
	return len(pix) - bytes.Count(pix, []byte{255})
}

func pixels(t *testing.T, img image.Image) []byte {
	t.Helper()
	switch img := img.(type) {
	case *image.RGBA:
		return img.Pix
	case *image.NRGBA:
		return img.Pix
	}
	t.Fatalf("a picture of type %T", img)
	return nil
}

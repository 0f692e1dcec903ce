package loadchart_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/load"
	"deepfaked/internal/loadchart"
)

// measured is what a target came to that answers after delays in turn.
func measured(t *testing.T, delays ...time.Duration) (d load.Distribution) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i := 0
		p := load.Plan{Burst: 20, Window: 1, Windows: 1, SLO: 1, Timeout: time.Hour, Connections: 1}
		r, err := load.Run(t.Context(), p, func() load.Call {
			delay := delays[i%len(delays)]
			i++
			return func(context.Context) load.Answer {
				<-time.After(delay)
				return load.Answer{OK: true}
			}
		})
		require.NoError(t, err)
		d = r.Due().Latency("")
	})
	return d
}

func TestPictures(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	dir := t.TempDir()
	for name, draw := range map[string]func(path string) error{
		"ramp": func(path string) error {
			return loadchart.Curve(path, "sync", []loadchart.Point{{Rate: 5, Latency: measured(t, ms, 2*ms)}, {Rate: 10, Latency: measured(t, ms, 30*ms)}, {Rate: 20, Latency: measured(t, 50*ms, 900*ms)}})
		},
		"one load": func(path string) error {
			return loadchart.Curve(path, "sync", []loadchart.Point{{Rate: 5, Latency: measured(t, ms)}})
		},
		"spread": func(path string) error {
			return loadchart.Histogram(path, "sync", measured(t, ms, 3*ms, 40*ms, 2*time.Second))
		},
		"all alike": func(path string) error { return loadchart.Histogram(path, "async", measured(t, 40*ms)) },
		"instant":   func(path string) error { return loadchart.Histogram(path, "sync", measured(t, 0)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name+".png")
			require.NoError(t, draw(path))
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			img, err := png.Decode(bytes.NewReader(content))
			require.NoError(t, err)
			assert.Equal(t, image.Pt(800, 800), img.Bounds().Size())
			assert.Greater(t, inked(img), 9000, "it is empty")
		})
	}
	assert.ErrorIs(t, loadchart.Histogram(filepath.Join(dir, "absent", "x.png"), "sync", measured(t, ms)), os.ErrNotExist)
}

// TestCurveInAnyOrder: of a ramp that goes down, or up and down, the line doubled back.
func TestCurveInAnyOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	points := []loadchart.Point{{Rate: 20, Latency: measured(t, time.Millisecond)}, {Rate: 50, Latency: measured(t, time.Second)}, {Rate: 80, Latency: measured(t, 2*time.Millisecond)}}
	drawn := func(order ...int) []byte {
		var given []loadchart.Point
		for _, i := range order {
			given = append(given, points[i])
		}
		path := filepath.Join(dir, "latency.png")
		require.NoError(t, loadchart.Curve(path, "sync", given))
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		return content
	}
	assert.Equal(t, drawn(0, 1, 2), drawn(2, 0, 1))
}

// inked counts the pixels that are not white.
func inked(img image.Image) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, b, _ := img.At(x, y).RGBA(); r&g&b != 0xffff {
				n++
			}
		}
	}
	return n
}

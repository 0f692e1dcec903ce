//go:build gocv_specific_modules

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// TestModelsBench: every built-in model, with every batch size, in figures that
// belong together.
func TestModelsBench(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := call(t, "models", "bench", "--provider", "cpu", "--data", t.TempDir(), "--batch", "2", "--for", "1ms", "--json")
	require.Equal(t, 0, s.code, s.err)
	batches := map[string]int{}
	for decoder := json.NewDecoder(strings.NewReader(s.out)); decoder.More(); {
		var got speed
		require.NoError(t, decoder.Decode(&got))
		batches[got.Model] += got.Batch
		assert.Equal(t, "cpu", got.Provider)
		assert.Positive(t, got.MedianMS)
		assert.GreaterOrEqual(t, got.P99MS, got.MedianMS)
		assert.InEpsilon(t, float64(got.Batch)*1000/got.MedianMS, got.Rows, 1e-6)
	}
	assert.Equal(t, map[string]int{"deepfaked-image": 3, "deepfaked-face": 3, "deepfaked-speech": 3, "deepfaked-face-detection": 3, "deepfaked-voice-activity": 3}, batches)

	s = call(t, "models", "bench", "--provider", "cpu", "--data", t.TempDir(), "--batch", "1", "--for", "1ms")
	require.Equal(t, 0, s.code, s.err)
	assert.Len(t, strings.Split(strings.TrimSpace(s.out), "\n"), 6, s.out)
	assert.Equal(t, exitUsage, call(t, "models", "bench", "--batch", "0").code)
	help := strings.Join(strings.Fields(call(t, "models", "bench", "--help").ok(t)), " ")
	assert.Contains(t, help, "the service's, 8 on a CPU, 64 on a GPU") // it named 8 for both
}

// TestModelsBenchTellsWhatItHasMeasured: whoever measured all models for minutes had
// no figure of any when the last one failed.
func TestModelsBenchTellsWhatItHasMeasured(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	wrong := lyingModel(t, "wrong", func(c *models.Card) { c.Golden.Output++ })
	s := call(t, "models", "bench", "--provider", "cpu", "--data", t.TempDir(), "--models", wrong, "--batch", "1", "--for", "1ms")
	s.refused(t, exitFailed, "wrong")
	assert.Len(t, strings.Split(strings.TrimSpace(s.out), "\n"), 6, s.out)
	assert.Contains(t, s.out, "deepfaked-image")
}

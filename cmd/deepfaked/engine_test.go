//go:build gocv_specific_modules

package main

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/models"
)

// TestDecodersFitTheLimitOfMemory: a container with many cores and little memory had a decoder for each core, and with
// large pictures the kernel ended decoders, or all of it.
func TestDecodersFitTheLimitOfMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit       int64
		cores, want int
	}{{math.MaxInt64, 64, 64}, {8 << 30, 64, 33}, {8 << 30, 8, 8}, {2 << 30, 16, 7}, {128 << 20, 4, 1}, {0, 1, 1}} {
		assert.Equal(t, c.want, within(c.limit, c.cores), "%d cores in %d bytes", c.cores, c.limit)
	}
	cfg := config.Default()
	cfg.Decoder.Children = 50
	assert.Equal(t, 50, children(cfg, nil, 1<<30, slog.New(slog.DiscardHandler)), "what was asked for")
}

// TestEverySessionIsProven: with several GPUs the self-test ran on the first one alone,
// and another that computes something else would have judged files all the same.
func TestEverySessionIsProven(t *testing.T) {
	t.Parallel()
	sessions := []*ort.Session{{}, {}, {}}
	for name, c := range map[string]struct {
		on     ort.Provider
		off    int // the session that gives another number, from 1; 0: none
		tested int
	}{
		"all are right":         {ort.CUDA, 0, 3},
		"the first is off":      {ort.CUDA, 1, 1},
		"the last is off":       {ort.TensorRT, 3, 3},
		"a CPU":                 {ort.CPU, 0, 1},
		"a CPU, which is wrong": {ort.CPU, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tested := 0
			err := prove(c.on, sessions, models.Card{}, func(s *ort.Session, _ models.Card) error {
				if tested++; c.off > 0 && s == sessions[c.off-1] {
					return &ort.GoldenError{}
				}
				return nil
			})
			_, off := errors.AsType[*ort.GoldenError](err)
			assert.Equal(t, c.off > 0, off, err)
			assert.Equal(t, c.tested, tested)
		})
	}
}

// TestLargestBatch: on a GPU models verify and add tested batches of 8 rows, and the
// service runs 64.
func TestLargestBatch(t *testing.T) {
	t.Parallel()
	for on, want := range map[ort.Provider]int{ort.CPU: 8, ort.CUDA: 64, ort.TensorRT: 64} {
		assert.Equal(t, want, largestBatch(on), on)
	}
}

// TestPlaces: 16 cores let 64 files in, of which a GPU made batches of 20 to 40 rows where it
// could run 64, and did 2,141 small pictures a second in place of 2,883.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		on                             ort.Provider
		decoders, executors, all, film int
	}{
		{ort.CPU, 2, 1, 8, 2},
		{ort.CPU, 16, 4, 64, 2},
		{ort.CUDA, 16, 2, 256, 8},
		{ort.CUDA, 4, 2, 64, 8}, // 256 would wait for four decoders
		{ort.TensorRT, 128, 4, 512, 2},
	} {
		all := places(c.on, c.decoders, c.executors)
		assert.Equal(t, c.all, all, c)
		assert.Equal(t, c.film, placesOfFilm(all, c.decoders), c)
	}
}

// TestOthers: a model that is added was tested with all of a GPU's memory, which in the
// service it shares with these.
func TestOthers(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Data, cfg.Models = t.TempDir(), []string{lyingModel(t, "further", func(*models.Card) {})}
	added := lyingModel(t, "added", func(*models.Card) {})
	require.NoError(t, os.CopyFS(filepath.Join(addedModels(cfg), "added"), os.DirFS(added)))
	builtin, err := builtinModels(cfg)
	require.NoError(t, err)
	for name, want := range map[string]int{"new": len(builtin) + 2, "added": len(builtin) + 1} {
		found, err := others(cfg, name)
		require.NoError(t, err)
		assert.Len(t, found, want, name)
	}
}

// TestTensorRTSaysWhatTakesItsTime: building the engines of the built-in models takes minutes on an H100, and
// nothing was said between "ONNX Runtime loaded" and "ready".
func TestTensorRTSaysWhatTakesItsTime(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	cfg := config.Default()
	cfg.Provider, cfg.Data, cfg.ONNXRuntime = string(ort.TensorRT), t.TempDir(), filepath.Join(t.TempDir(), "none.so")
	_, err := openRuntime(cfg, 1, slog.New(slog.NewTextHandler(&log, nil)))
	require.Error(t, err)
	assert.Contains(t, log.String(), "TensorRT builds an engine")
	assert.Contains(t, log.String(), filepath.Join(cfg.Data, "tensorrt"))
}

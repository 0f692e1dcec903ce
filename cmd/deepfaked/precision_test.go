package main

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/models"
)

// notExact are the words about the built-in variant on a processor that gets it wrong.
const notExact = "its int8 variant is not exact on this processor"

// fine counts the models that are ok in what models verify printed.
func fine(printed string) int { return strings.Count(printed, ": ok\n") }

// TestPrecision: 8 bits are used where they were not ruled out, and never where the
// self-test shows that they come out wrong here. The built-in variant did on processors of
// amd64 without VNNI, where sums of bytes overflowed, and every picture took a sixth longer.
func TestPrecision(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	env, image := onCPU(t, models.ImageSynthesis)
	wrong := *image
	wrong.Card.Variants = slices.Clone(image.Card.Variants)
	wrong.Card.Variants[0].Golden.Output++
	require.NoError(t, verify(env, image.In(models.Int8), 1))
	for _, c := range []struct {
		name, wanted string
		model        *models.Model
		off          bool
	}{
		{"auto", "auto", image, false},
		{"int8", "int8", image, false},
		{"full", "full", image, false},
		{"fp16, which it has not", "fp16", image, false},
		{"tf32, which a CPU has not", "tf32", image, false},
		{"auto, wrong here", "auto", &wrong, true},
		{"int8, wrong here", "int8", &wrong, true},
		{"full, wrong here", "full", &wrong, false},
	} {
		var log bytes.Buffer
		chosen, err := inPrecision(env, []*models.Model{c.model}, c.wanted, slog.New(slog.NewTextHandler(&log, nil)))
		if c.off && c.wanted == "int8" {
			require.ErrorContains(t, err, "model deepfaked-image: "+notExact, c.name)
			require.ErrorContains(t, err, "precision int8 was asked for: ask for auto or full", c.name)
			continue
		}
		require.NoError(t, err, c.name)
		file, lacking := "model-int8.onnx", c.wanted == "fp16" || c.wanted == "tf32"
		if c.off || c.wanted == "full" || lacking {
			file = "model.onnx"
		}
		assert.Equal(t, file, chosen[0].Card.File, c.name)
		assert.Equal(t, c.off, bytes.Contains(log.Bytes(), []byte("a model's variant fails here")), c.name)
		// Who asked for a precision that a model does not have was not told.
		assert.Equal(t, lacking, bytes.Contains(log.Bytes(), []byte("no variant in the precision that was asked for")), c.name)
	}
}

// onCPU is ONNX Runtime on the CPU, and the built-in model of a task.
func onCPU(t *testing.T, task models.Task) (*ort.Environment, *models.Model) {
	t.Helper()
	cfg := config.Default()
	cfg.Provider = "cpu"
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Close()) })
	all, err := models.Builtin()
	require.NoError(t, err)
	all = models.Whole(all)
	return env, all[slices.IndexFunc(all, func(m *models.Model) bool { return m.Card.Task == task })]
}

// TestQuickest: a GPU had run everything in full precision.
func TestQuickest(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []models.Precision{models.Int8}, quickest(ort.CPU))
	assert.Equal(t, []models.Precision{models.FP16, models.TF32}, quickest(ort.CUDA))
	assert.Equal(t, []models.Precision{models.FP16, models.TF32}, quickest(ort.TensorRT))
}

// TestTrialBatch: TensorRT, which keeps one engine of a graph, built one for a row and one for the largest batch
// in turns, at every start, for a minute and more each, and never used what it had kept.
func TestTrialBatch(t *testing.T) {
	t.Parallel()
	assert.Equal(t, gpuBatch, trialBatch(ort.TensorRT))
	assert.Equal(t, 1, trialBatch(ort.CUDA))
	assert.Equal(t, 1, trialBatch(ort.CPU))
}

// TestRunnable: on a GPU models verify ran the variants in 8 bits, which come out otherwise there
// and are not used, and called the folder wrong.
func TestRunnable(t *testing.T) {
	t.Parallel()
	m := &models.Model{Card: models.Card{Variants: []models.Variant{{Precision: models.Int8}, {Precision: models.FP16}}}}
	for _, c := range []struct {
		on     ort.Provider
		wanted string
		want   []models.Precision
	}{
		{ort.CPU, "auto", []models.Precision{models.Int8, models.FP16}},
		{ort.CUDA, "auto", []models.Precision{models.FP16, models.TF32}},
		{ort.CUDA, "int8", []models.Precision{models.Int8, models.FP16, models.TF32}},
		{ort.TensorRT, "auto", []models.Precision{models.FP16}},
	} {
		assert.Equal(t, c.want, runnable(c.on, m, c.wanted), "%s, %s", c.on, c.wanted)
	}
	assert.Equal(t, models.TF32, mostExact(ort.TensorRT, m).Precision, "TensorRT takes TF32 whatever it is told")
	assert.Same(t, m, mostExact(ort.CUDA, m))
}

// TestVariantError: only a number that is off in a row by itself is the processor's
// affair, since the service would not notice the others before it runs the variant.
func TestVariantError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   error
		words string // empty where it is an *inexactError
	}{
		"a row by itself":    {&ort.GoldenError{Batch: 1}, ""},
		"larger batches":     {&ort.GoldenError{Batch: 8}, "in int8: "},
		"another graph":      {&ort.GraphError{Field: "input.name"}, "in int8: "},
		"runtime's own word": {errors.New("it can't be read"), "in int8: it can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := variantError(models.Int8, c.err)
			_, inexact := errors.AsType[*inexactError](err)
			assert.Equal(t, c.words == "", inexact)
			assert.ErrorContains(t, err, c.words)
		})
	}
	assert.NoError(t, variantError(models.Int8, nil))
}

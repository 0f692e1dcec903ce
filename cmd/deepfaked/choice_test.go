//go:build gocv_specific_modules

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference/ort"
	"deepfaked/models"
)

// graph is one of those that the package ort is tested with: "bytes" gives 8*(mean/255-0.5)
// of 48 bytes, and "mixed" the same in 8 bits of a scale that all rows of a batch share.
func graph(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "inference", "ort", "testdata", name+".onnx"))
	require.NoError(t, err)
	return data
}

// noGraph is the content of a file that holds none.
var noGraph = []byte("no graph at all")

// small is a model of pictures, of graph "bytes", whose variant int8 is right in a row by
// itself if it can be run; and edited.
func small(t *testing.T, env *ort.Environment, int8 []byte, edit func(*models.Card)) *models.Model {
	t.Helper()
	card, full := builtinCard(t, "image"), graph(t, "bytes")
	card.Name, card.File, card.SHA256 = "small", "model.onnx", checksum(full)
	card.Input = models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 4, 4, 3}}
	card.Output = models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1}}
	card.Golden = models.Golden{Pattern: card.Golden.Pattern, Output: alone(t, env, card, full), Tolerance: 1e-3}
	v := &card.Variants[0]
	card.Variants = card.Variants[:1]
	v.Precision, v.File, v.SHA256, v.Golden = models.Int8, variantFile, checksum(int8), card.Golden
	if !bytes.Equal(int8, noGraph) {
		v.Golden.Output = alone(t, env, card, int8)
	}
	edit(&card)
	text, err := json.Marshal(card)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "model")
	require.NoError(t, errors.Join(os.Mkdir(dir, 0o750), os.WriteFile(filepath.Join(dir, models.CardFile), text, 0o600),
		os.WriteFile(filepath.Join(dir, "model.onnx"), full, 0o600), os.WriteFile(filepath.Join(dir, variantFile), int8, 0o600)))
	loaded, err := models.Scan(dir)
	require.NoError(t, errors.Join(err, loaded[0].Err))
	return loaded[0].Model
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// alone is what the graph gives for the self-test's row.
func alone(t *testing.T, env *ort.Environment, card models.Card, onnx []byte) float64 {
	t.Helper()
	s, err := env.NewSession(&models.Model{Card: card, ONNX: onnx}, 1)
	require.NoError(t, err)
	card.Golden.Fill(s.Row(0))
	out, err := s.Run(1)
	require.NoError(t, errors.Join(err, s.Close()))
	return float64(out[0])
}

// TestAVariantForGPUs: a model with a variant in half precision that ONNX Runtime runs on GPUs alone
// could not be added on a machine without one, where the service would run the model and never the variant.
func TestAVariantForGPUs(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	env, _ := onCPU(t, models.ImageSynthesis)
	half := func(c *models.Card) { c.Variants[0].Precision = models.FP16 }
	m := small(t, env, noGraph, half)
	for _, wanted := range []string{"auto", "full", "int8"} {
		note, err := verifyAll(env, m, wanted)
		require.NoError(t, err, wanted)
		assert.Contains(t, note, "its fp16 variant can't be run here (", wanted)
	}
	_, err := verifyAll(env, m, "fp16")
	require.ErrorContains(t, err, "in fp16: ")
	// What a CPU may have to run, what runs and is wrong in a batch, and a model that is wrong itself are errors.
	for name, bad := range map[string]*models.Model{
		"in int8":      small(t, env, noGraph, func(*models.Card) {}),
		"in fp16":      small(t, env, graph(t, "mixed"), half),
		"model small:": small(t, env, noGraph, func(c *models.Card) { half(c); c.Golden.Output++ }),
	} {
		note, err := verifyAll(env, bad, "auto")
		assert.ErrorContains(t, err, name)
		assert.Empty(t, note, name)
	}
}

// TestForGPUs: what is wrong everywhere, and what fails on a GPU, is no reason to look away.
func TestForGPUs(t *testing.T) {
	t.Parallel()
	unknown := errors.New("no kernel")
	assert.True(t, forGPUs(ort.CPU, models.FP16, unknown))
	assert.False(t, forGPUs(ort.CUDA, models.FP16, unknown))
	assert.False(t, forGPUs(ort.CPU, models.Int8, unknown))
	assert.False(t, forGPUs(ort.CPU, models.FP16, &ort.GraphError{}))
	assert.False(t, forGPUs(ort.CPU, models.FP16, &ort.GoldenError{}))
	assert.False(t, forGPUs(ort.CPU, models.FP16, ort.ErrClosed))
}

// TestAVariantThatFailsLater: a variant was chosen by its self-test with a single row. One that
// came out wrong in a larger batch then kept the service from becoming ready, and so did one
// that could not be loaded, where the model itself would have run.
func TestAVariantThatFailsLater(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	env, _ := onCPU(t, models.ImageSynthesis)
	as := func(*models.Card) {}
	otherInput := func(c *models.Card) { c.Input.Name = "z" }
	for _, c := range []struct {
		name, wanted string
		int8         []byte
		edit         func(*models.Card)
		file, words  string // what is run, or nothing; and what is said of the variant
	}{
		{"right", "auto", graph(t, "bytes"), as, variantFile, ""},
		{"wrong in larger batches", "auto", graph(t, "mixed"), as, "model.onnx", "self-test in a batch of 8 gave"},
		{"no graph", "auto", noGraph, as, "model.onnx", "read the graph"},
		{"another graph", "auto", graph(t, "bytes"), otherInput, "", "in int8: model small: card.json: field input.name"},
		{"wrong in larger batches, and asked for", "int8", graph(t, "mixed"), as, "", "in int8: model small: card.json: field golden.output"},
		{"no graph, and asked for", "int8", noGraph, as, "", "in int8: model small: read the graph"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, nil))
			chosen, err := inPrecision(env, []*models.Model{small(t, env, c.int8, c.edit)}, c.wanted, logger)
			if err == nil {
				s, broken := schedule(t.Context(), env, chosen, logger, care{measure: true})
				if err = broken; err == nil {
					s.Close()
				}
			}
			if c.file == "" {
				require.ErrorContains(t, err, c.words)
				assert.NotContains(t, log.String(), "it is not run")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.file, chosen[0].Card.File)
			measured, err := (&modelsBench{For: 1}).measure(t.Context(), env, &chosen[0])
			require.NoError(t, err)
			assert.NotEmpty(t, measured)
			warned := slices.DeleteFunc(strings.Split(log.String(), "\n"), func(line string) bool { return !strings.Contains(line, "WARN") })
			if c.words == "" {
				assert.Empty(t, warned)
				return
			}
			require.Len(t, warned, 1, log.String())
			for _, words := range []string{"a model's variant fails here, it is not run", "model=small", "precision=int8", c.words} {
				assert.Contains(t, warned[0], words)
			}
		})
	}
}

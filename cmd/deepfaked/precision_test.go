package main

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/config"
	"deepfaked/models"
)

// TestPrecision: 8 bits are used where they were not ruled out, and never where the
// self-test shows that this processor gets them wrong, as those without
// instructions for sums of bytes do: they let them overflow.
func TestPrecision(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Provider = "cpu"
	env, err := openRuntime(cfg, 1, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Close()) })
	all, err := models.Builtin()
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(m *models.Model) bool { return m.Card.Task == models.ImageSynthesis })
	image := all[i]
	wrong := *image
	wrong.Card.Variants = slices.Clone(image.Card.Variants)
	wrong.Card.Variants[0].Golden.Output++
	for _, c := range []struct {
		name, wanted string
		model        *models.Model
		file         string
		warned       bool
	}{
		{"auto", "auto", image, "model-int8.onnx", false},
		{"int8", "int8", image, "model-int8.onnx", false},
		{"full", "full", image, "model.onnx", false},
		{"auto, wrong here", "auto", &wrong, "model.onnx", true},
	} {
		var log bytes.Buffer
		chosen, err := inPrecision(env, []*models.Model{c.model}, c.wanted, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err, c.name)
		assert.Equal(t, c.file, chosen[0].Card.File, c.name)
		assert.Equal(t, c.warned, bytes.Contains(log.Bytes(), []byte("gets the model's 8 bits wrong")), c.name)
	}
	_, err = inPrecision(env, []*models.Model{&wrong}, "int8", slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "deepfaked-image in int8")
}

//go:build gocv_specific_modules

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
)

// variantFile is the file of the variant that a varied model has.
const variantFile = "model-int8.onnx"

// varied is lyingModel with a variant, whose file is the model's own unless content
// stands for it: so it is exact on every processor, and with another number as its
// self-test's on none.
func varied(t *testing.T, name string, content []byte, change func(*models.Card)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	require.NoError(t, writeVaried(dir, name, content, change))
	return dir
}

func writeVaried(dir, name string, content []byte, change func(*models.Card)) error {
	err := writeLie(dir, name, func(c *models.Card) {
		sum := c.SHA256
		if content != nil {
			own := sha256.Sum256(content)
			sum = hex.EncodeToString(own[:])
		}
		c.Variants = []models.Variant{{Precision: models.Int8, File: variantFile, SHA256: sum, Golden: c.Golden, Measured: slices.Clone(c.Measured)}}
		change(c)
	})
	if err == nil && content == nil {
		content, err = os.ReadFile(filepath.Join(dir, "model.onnx"))
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, variantFile), content, 0o600)
}

// offHere makes a variant that gives another number than its self-test wants, as the
// built-in one did on processors without VNNI.
func offHere(c *models.Card) { c.Variants[0].Golden.Output++ }

// TestVerifyWhereAVariantIsOff: a processor without VNNI lets sums of bytes overflow,
// so the built-in picture model's variant gave -1.02 there in place of -1.24. The
// service noticed, and ran the model in full precision; but models verify failed, and
// called the file another one, which it is not. A variant whose file is not what the
// card says still fails.
func TestVerifyWhereAVariantIsOff(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	as := func(*models.Card) {}
	face, err := os.ReadFile(filepath.Join("..", "..", "models", "builtin", "face", "model.onnx"))
	require.NoError(t, err)
	missing, folder := varied(t, "missing", nil, as), varied(t, "unreadable", nil, as)
	for _, dir := range []string{missing, folder} {
		require.NoError(t, os.Remove(filepath.Join(dir, variantFile)))
	}
	require.NoError(t, os.Mkdir(filepath.Join(folder, variantFile), 0o750))
	cases := []struct{ dir, begin, words string }{
		{varied(t, "exact", nil, as), "exact: ok", ""},
		{varied(t, "off-here", nil, offHere), "off-here: ok; " + notExact + " (the self-test gives ", "), so it is not run here"},
		{varied(t, "both-off", nil, func(c *models.Card) { offHere(c); c.Golden.Output-- }), "both-off: model both-off: ", "don't use it; model both-off: " + notExact},
		{varied(t, "checksum", nil, func(c *models.Card) { c.Variants[0].SHA256 = strings.Repeat("0", 64) }), "", "model checksum: card.json: field sha256: is not that of " + variantFile},
		{varied(t, "shapes", face, offHere), "shapes: in int8: ", "correct the card or bring the file"},
		{varied(t, "damaged", []byte("no graph at all"), offHere), "damaged: in int8: ", ""},
		{missing, "", "model missing: stat " + variantFile + ": no such file"},
		{folder, "", "model unreadable: " + variantFile + " is not a regular file"},
	}
	args := []string{"models", "verify", "--provider", "cpu", "--data", t.TempDir()}
	for _, c := range cases {
		args = append(args, "--models", c.dir)
	}
	s := call(t, args...)
	assert.Equal(t, exitFailed, s.code)
	assert.Empty(t, s.err)
	lines := strings.Split(strings.TrimSpace(s.out), "\n")
	require.Greater(t, len(lines), len(cases), s.out)
	lines = lines[len(lines)-len(cases):] // behind those of the built-in models
	for i, c := range cases {
		assert.True(t, strings.HasPrefix(lines[i], c.begin), "%s, want %s", lines[i], c.begin)
		assert.Contains(t, lines[i], c.words)
	}
	assert.Equal(t, "exact: ok", lines[0])
}

// TestInt8WhereAVariantIsOff: who insists on 8 bits is told that they can't be had.
func TestInt8WhereAVariantIsOff(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir, refusal := varied(t, "off-here", nil, offHere), "precision int8 was asked for: ask for auto or full"
	flags := []string{"--provider", "cpu", "--data", t.TempDir(), "--models", dir, "--precision"}
	s := call(t, append(append([]string{"models", "verify"}, flags...), "int8")...)
	assert.Equal(t, exitFailed, s.code)
	assert.Contains(t, s.out, "off-here: model off-here: "+notExact)
	assert.Contains(t, s.out, refusal)
	verified := call(t, append(append([]string{"models", "verify"}, flags...), "full")...).ok(t)
	assert.Contains(t, verified, "off-here: ok; "+notExact)
	detect := append(append([]string{"detect"}, flags...), "int8", write(t, "x.png", somePicture(t)))
	call(t, detect...).refused(t, exitFailed, notExact, refusal)
}

// TestAddAndPullWhereAVariantIsOff: the model is added, and what it does here is said;
// where the configuration insists on 8 bits it would keep the service from starting.
func TestAddAndPullWhereAVariantIsOff(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	data, dir := t.TempDir(), varied(t, "off-here", nil, offHere)
	add := []string{"models", "add", "--provider", "cpu", "--data", data, dir}
	insists := write(t, "config.yaml", []byte("inference: {precision: int8}\n"))
	call(t, append(add, "--config", insists)...).refused(t, exitFailed, notExact, "precision int8 was asked for")
	assert.NoDirExists(t, filepath.Join(data, "models"))
	added := call(t, add...).ok(t)
	assert.Contains(t, added, "Added off-here in ")
	assert.Contains(t, added, "\noff-here: ok; "+notExact)
	assert.FileExists(t, filepath.Join(data, "models", "off-here", variantFile))
	call(t, "models", "add", "--provider", "cpu", "--data", data, varied(t, "damaged", []byte("no graph"), offHere)).refused(t, exitFailed, "in int8: ")

	m := newMarket(t, shop())
	m.convert = func(_ context.Context, _, _, out string) error {
		return writeVaried(out, "bought-speech", nil, offHere)
	}
	said, err := m.buy(t)
	require.NoError(t, err)
	assert.Contains(t, said, "\nbought-speech: ok; "+notExact)
}

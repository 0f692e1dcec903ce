//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image/jpeg"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/config"
	"deepfaked/models"
)

// lent is the file of weights of the graph "borrowed".
const lent = "borrowed.bin"

// testdata is where that file is.
var testdata = filepath.Join("..", "..", "inference", "ort", "testdata")

// borrowing is a card of a model of pictures whose weights are in that file.
func borrowing(t *testing.T) models.Card {
	t.Helper()
	card, onnx := builtinCard(t, "image"), graph(t, "borrowed")
	weights, err := os.ReadFile(filepath.Join(testdata, lent))
	require.NoError(t, err)
	card.Name, card.File, card.SHA256, card.Variants = "borrowing", "model.onnx", checksum(onnx), nil
	card.Input = models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 4, 4, 3}}
	card.Output = models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1}}
	card.Golden = models.Golden{Pattern: card.Golden.Pattern, Output: selfTestOfBytes(card.Golden), Tolerance: 1e-3}
	card.Weights = &models.Weights{File: lent, SHA256: checksum(weights), Bytes: int64(len(weights)), Origin: "a test", Licence: "Apache-2.0"}
	return card
}

// selfTestOfBytes is what the graph gives for the row of the self-test.
func selfTestOfBytes(golden models.Golden) float64 {
	row := models.Row{U8: make([]byte, 48)}
	golden.Fill(row)
	sum := 0.
	for _, b := range row.U8 {
		sum += float64(b)
	}
	return 8 * (sum/48/255 - 0.5)
}

// builtIn are findings as those of built-in models: one of faces, one of pictures, and one of
// pictures that judges better.
func builtIn(t *testing.T) []models.Found {
	t.Helper()
	return []models.Found{
		{Model: &models.Model{Card: builtinCard(t, "face")}}, {Model: &models.Model{Card: builtinCard(t, "image")}},
		{Model: &models.Model{Card: borrowing(t)}},
	}
}

func TestQuality(t *testing.T) {
	t.Parallel()
	damaged, nothing := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(damaged, lent), []byte("damaged"), 0o600))
	const absent, wrong = "is not there (looked for ", "field weights.bytes: "
	for _, c := range []struct {
		quality, folder string
		better          bool   // whether the better one is used
		unused          string // why one of the two is not used, or
		failed          string // why nothing works
		logged, is      string
	}{
		{"auto", testdata, true, "borrowing takes its place", "", "", "best"},
		{"best", testdata, true, "borrowing takes its place", "", "", "best"},
		{"fast", testdata, false, "quality fast was asked for", "", "", "fast"},
		{"auto", nothing, false, absent, "", "level=INFO", "fast"},
		{"auto", damaged, false, wrong, "", "level=WARN", "fast"},
		{"fast", damaged, false, "quality fast was asked for", "", "", "fast"},
		{"best", nothing, false, "", absent, "", ""},
		{"best", damaged, false, "", wrong, "", ""},
	} {
		t.Run(c.quality+" "+filepath.Base(c.folder), func(t *testing.T) {
			t.Parallel()
			found := builtIn(t)
			choose(found, c.quality, []string{c.folder})
			require.NoError(t, errors.Join(found[0].Err, found[0].Unused, found[1].Err))
			if c.failed != "" {
				require.ErrorContains(t, found[2].Err, c.failed)
				require.ErrorContains(t, found[2].Err, "quality best was asked for: make setup or deepfaked models pull borrowing gets it, or ask for fast")
				return
			}
			assert.Equal(t, c.better, found[2].Unused == nil, "exactly one of a task is used")
			assert.Equal(t, c.better, found[1].Unused != nil, "exactly one of a task is used")
			require.ErrorContains(t, errors.Join(found[1].Unused, found[2].Unused), c.unused)
			assert.Equal(t, c.is, qualityOf(found))
			var log bytes.Buffer
			tellPassed(found, slog.New(slog.NewTextHandler(&log, nil)))
			if c.logged == "" {
				assert.Empty(t, log.String())
				return
			}
			assert.Equal(t, 1, bytes.Count(log.Bytes(), []byte("\n")))
			for _, words := range []string{c.logged, "model=borrowing", "make setup or deepfaked models pull borrowing"} {
				assert.Contains(t, log.String(), words)
			}
		})
	}
}

// TestQualityWithoutAChoice: without such a model, and without another of its task.
func TestQualityWithoutAChoice(t *testing.T) {
	t.Parallel()
	for _, quality := range []string{"auto", "best", "fast"} {
		whole := builtIn(t)[:2]
		choose(whole, quality, nil)
		require.NoError(t, errors.Join(whole[0].Err, whole[1].Err, whole[0].Unused, whole[1].Unused))
		assert.Equal(t, "best", qualityOf(whole))
		alone := builtIn(t)[2:]
		choose(alone, quality, []string{testdata})
		require.NoError(t, errors.Join(alone[0].Err, alone[0].Unused))
		alone = builtIn(t)[2:]
		choose(alone, quality, []string{t.TempDir()})
		require.ErrorIs(t, alone[0].Err, models.ErrNoWeights)
	}
}

// TestWhereWeightsAreLookedFor: a person's folder goes before all, and images have the file beside
// ONNX Runtime.
func TestWhereWeightsAreLookedFor(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	library := write(t, "libonnxruntime.so", []byte("stands for the library"))
	cfg := config.Default()
	cfg.Data, cfg.ONNXRuntime = "d", library
	assert.Equal(t, []string{"d/weights", "/cache/deepfaked/weights", filepath.Dir(library)}, weightsFolders(cfg))
	cfg.Weights = "own"
	assert.Equal(t, []string{"own", "d/weights", "/cache/deepfaked/weights", filepath.Dir(library)}, weightsFolders(cfg))
}

// TestBuiltinQuality: without their weights none of the built-in models is used that needs some, and
// who asks for them is told.
func TestBuiltinQuality(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	all, err := models.Builtin()
	require.NoError(t, err)
	needy := len(all) - len(models.Whole(all))
	if needy == 0 {
		t.Skip("no built-in model has weights that are fetched apart")
	}
	list := []string{"models", "list", "--data", t.TempDir(), "--quality"}
	assert.Contains(t, call(t, append(list, "auto")...).ok(t), "gets it\n")
	assert.Contains(t, call(t, append(list, "fast")...).ok(t), "built in, not used: quality fast was asked for\n")
	call(t, append(list, "best")...).refused(t, exitFailed, "quality best was asked for: make setup or deepfaked models pull ")
}

// TestAddWithWeights: an operator's model brings the file in its own folder, and is installed with it.
func TestAddWithWeights(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir, data := filepath.Join(t.TempDir(), "model"), t.TempDir()
	text, err := json.Marshal(borrowing(t))
	require.NoError(t, err)
	require.NoError(t, errors.Join(os.Mkdir(dir, 0o750), os.WriteFile(filepath.Join(dir, models.CardFile), text, 0o600),
		os.WriteFile(filepath.Join(dir, "model.onnx"), graph(t, "borrowed"), 0o600)))
	add := []string{"models", "add", "--provider", "cpu", "--data", data, dir}
	call(t, add...).refused(t, exitFailed, "borrowing", lent, "is not there")
	weights, err := os.ReadFile(filepath.Join(testdata, lent))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, lent), weights, 0o600))
	call(t, add...).ok(t)
	assert.FileExists(t, filepath.Join(data, "models", "borrowing", lent))
	assert.Contains(t, call(t, "models", "verify", "--provider", "cpu", "--data", data).ok(t), "borrowing: ok\n")
	judged := call(t, "detect", "--provider", "cpu", "--json", "--data", data, write(t, "x.png", somePicture(t))).ok(t)
	assert.Contains(t, judged, "borrowing")
}

// TestBestPictures: the picture model with weights of its own judges where set-up fetched them, and says that it did.
func TestBestPictures(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	found, err := builtinModels(config.Default())
	require.NoError(t, err)
	if qualityOf(found) != qualityBest {
		if os.Getenv("CI") != "" {
			t.Fatal("the weights of the built-in models are not there: scripts/setup fetches them")
		}
		t.Skip("the weights of the built-in models are not there: make setup fetches them")
	}
	path := filepath.Join(t.TempDir(), "picture.jpg")
	require.NoError(t, os.WriteFile(path, encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, picture(1280, 720), nil) }), 0o600))
	var line struct {
		Report struct {
			Models []struct {
				Name string `json:"name"`
			} `json:"models"`
		} `json:"report"`
	}
	require.NoError(t, json.Unmarshal([]byte(call(t, "detect", "--json", "--provider", "cpu", "--quality", "best", path).ok(t)), &line))
	require.NotEmpty(t, line.Report.Models)
	assert.Equal(t, "deepfaked-image-clip", line.Report.Models[0].Name)
	for _, m := range line.Report.Models {
		assert.NotEqual(t, "deepfaked-image", m.Name, "one of a task judges")
	}
}

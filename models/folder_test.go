package models

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// french is a name in Latin-1, which is no UTF-8.
const french = "mod\xe8le"

// TestNamesOfAnyBytes: a file whose name was not UTF-8 kept the service from becoming ready,
// for all that it merely lay among the models, and no model could be read from such a folder.
func TestNamesOfAnyBytes(t *testing.T) {
	t.Parallel()
	licensed := folder(t, "second")
	licensed["LICENSE-"+french] = &fstest.MapFile{Data: []byte("terms")}
	dir := t.TempDir()
	write := func(name string, data []byte) {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range folder(t, "first") {
		write("a/"+name, f.Data)
	}
	for name, f := range licensed {
		write(french+"/"+name, f.Data)
	}
	write(french+".txt", nil)
	found, err := scanned(dir)
	if err != nil || joinNames(found) != "first second" {
		t.Errorf("loaded %q, %v", joinNames(found), err)
	}
	c, err := ReadCandidate(filepath.Join(dir, french))
	if err != nil {
		t.Fatal(err)
	}
	if terms := c.texts["LICENSE-"+french]; string(terms) != "terms" {
		t.Errorf("the licence is %q", terms)
	}
}

// TestFoldersKeepToThemselves: whatever opens them, and as the standard library wants it of file systems.
func TestFoldersKeepToThemselves(t *testing.T) {
	t.Parallel()
	dir := writeTree(t, fstest.MapFS{"a/b": {Data: []byte("b")}, "c": {}})
	root, err := os.OpenRoot(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, a := range []anyNames{{beneath(filepath.Join(dir, "a"))}, {root}} {
		if err := fstest.TestFS(a, "b"); err != nil {
			t.Error(err)
		}
		for _, name := range []string{"../c", french + "/../../c", "/c", "", "b/"} {
			if _, err := fs.Stat(a, name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v, want fs.ErrInvalid", name, err)
			}
			if _, err := a.Open(name); !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v, want fs.ErrInvalid", name, err)
			}
		}
	}
}

package models

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
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

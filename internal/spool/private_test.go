package spool

import (
	"os"
	"path/filepath"
	"testing"
)

// Uploads are their clients' alone: other users of the machine can neither list nor read them.
func TestUploadsAreNobodyElses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := Options{
		Dir: filepath.Join(dir, "spool"), Park: filepath.Join(dir, "jobs"), Kept: filepath.Join(dir, "uploads"),
		Keep: true, Names: "det_", Memory: 1 << 20,
	}
	s, err := New(opts)
	must(t, err)
	f, err := s.Create()
	must(t, err)
	defer f.Close()
	_, err = f.Write([]byte("abc")) // it is in memory, and so copied
	must(t, err)
	must(t, f.Keep("det_1"))
	must(t, f.Park("det_1"))
	for _, path := range []string{opts.Dir, opts.Park, opts.Kept, filepath.Join(opts.Park, "det_1"), filepath.Join(opts.Kept, "det_1")} {
		info, err := os.Stat(path)
		must(t, err)
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s is %v", path, mode)
		}
	}
}

// A block goes to the next upload, of whoever.
func TestBlocksAreGivenBackEmpty(t *testing.T) { //nolint:paralleltest // others would take the block
	var h held
	h.write([]byte("secret"))
	b := h.blocks[0]
	h.free()
	if *b != (block{}) {
		t.Error("a block keeps what was deleted")
	}
}

// A copy that could not get its name is not left: nothing but Purge would remove it, when its
// time has come, and of a job it would take room until then.
func TestKeepLeavesNoPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "uploads")
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: kept, Keep: true, Names: "det_"})
	must(t, err)
	f, err := s.Create()
	must(t, err)
	defer f.Close()
	folder, err := os.OpenRoot(kept)
	must(t, err)
	defer folder.Close()
	must(t, os.MkdirAll(filepath.Join(kept, "det_1", "in the way"), 0o700))
	if f.keep(folder, "det_1") == nil {
		t.Error("kept in the place of a folder")
	}
	if names := list(t, kept); len(names) != 1 {
		t.Errorf("left: %v", names)
	}
}

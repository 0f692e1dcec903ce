package spool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// While the folder of kept uploads was gone, as with its disk, the analysis was said to
// have failed, which cost each job that waited all its attempts within seconds. The
// folder is away like that of parked files; only a disk without room is full.
func TestKeptFolderIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, elsewhere := filepath.Join(dir, "uploads"), filepath.Join(dir, "elsewhere")
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: kept, Keep: true, Names: "det_"})
	must(t, err)
	f, err := s.Create()
	must(t, err)
	defer f.Close()
	must(t, os.Rename(kept, elsewhere))
	isAway := func() {
		t.Helper()
		if err := f.Keep("det_1"); !errors.Is(err, ErrAway) || errors.Is(err, ErrFull) {
			t.Error(err)
		}
	}
	isAway() // there is nothing
	must(t, os.WriteFile(kept, nil, 0o600))
	isAway() // there is no folder
	must(t, os.Remove(kept))
	must(t, os.Rename(elsewhere, kept))
	must(t, f.Keep("det_1"))
	if names := list(t, kept); len(names) != 1 {
		t.Errorf("the folder holds %v", names)
	}
	if err := unkept(unix.ENOSPC); !errors.Is(err, ErrFull) || errors.Is(err, ErrAway) {
		t.Error(err)
	}
}

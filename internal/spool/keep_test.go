package spool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// keeping is a spool that keeps uploads, and the folder of those.
func keeping(t *testing.T) (s *Spool, kept string) {
	t.Helper()
	dir := t.TempDir()
	kept = filepath.Join(dir, "uploads")
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: kept, Keep: true, Names: "det_"})
	must(t, err)
	return s, kept
}

// While the folder of kept uploads was gone, as with its disk, the analysis was said to
// have failed, which cost each job that waited all its attempts within seconds. The
// folder is away like that of parked files; only a disk without room is full.
func TestKeptFolderIsAway(t *testing.T) {
	t.Parallel()
	s, kept := keeping(t)
	elsewhere := kept + "-elsewhere"
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

// One kept upload that could not be deleted kept all after it for ever, people's media
// among them whose time was over.
func TestPurgeGoesOn(t *testing.T) {
	t.Parallel()
	s, kept := keeping(t)
	free := kept + "-free"
	for _, name := range []string{"det_1", "det_2", "det_3"} {
		must(t, os.WriteFile(filepath.Join(kept, name), nil, 0o600))
	}
	must(t, os.WriteFile(free, nil, 0o600))
	stuck := filepath.Join(kept, "det_1")
	if err := unix.Mount(free, stuck, "", unix.MS_BIND, ""); errors.Is(err, unix.EPERM) {
		t.Skip("mounting is not allowed here: run the tests as root")
	} else {
		must(t, err)
	}
	n, err := s.Purge(time.Now().Add(time.Second))
	if n != 2 || !errors.Is(err, unix.EBUSY) {
		t.Errorf("%d deleted, %v", n, err)
	}
	must(t, unix.Unmount(stuck, 0))
	if n, err := s.Purge(time.Now().Add(time.Second)); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}

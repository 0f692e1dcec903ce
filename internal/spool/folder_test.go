package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// shared makes a spool in a folder that parks in it, and a file with text.
func shared(t *testing.T, dir, text string) (*Spool, *File) {
	t.Helper()
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Park: filepath.Join(dir, "jobs"), Capacity: 10})
	must(t, err)
	f, err := s.Create()
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	_, err = f.Write([]byte(text))
	must(t, err)
	return s, f
}

// While the disk of parked files was not mounted they were taken for lost, which
// is for good, and what was parked at its bare mount point could not be found any
// more when the disk was back.
func TestParkFolderIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	park, elsewhere := filepath.Join(dir, "jobs"), filepath.Join(dir, "elsewhere")
	s, f := shared(t, dir, "abc")
	must(t, f.Park("x"))
	_, g := shared(t, dir, "def")
	must(t, os.Rename(park, elsewhere))
	isAway(t, s, g) // there is nothing
	must(t, os.Mkdir(park, 0o700))
	isAway(t, s, g) // there is another folder
	_, err := New(Options{Dir: filepath.Join(dir, "spool"), Park: park})
	must(t, err)
	isAway(t, s, g) // which another process took for its own
	if names := list(t, park); len(names) != 1 {
		t.Errorf("the other folder holds more than its mark: %v", names)
	}
	must(t, os.RemoveAll(park))
	must(t, os.Rename(elsewhere, park))
	must(t, g.Park("y"))
	for _, name := range []string{"x", "y"} {
		h, err := s.Open(t.Context(), name, "", 3)
		must(t, err)
		must(t, h.Close())
		must(t, s.Discard(t.Context(), name))
	}
}

// isAway sees that nothing is done and nothing is said to be lost.
func isAway(t *testing.T, s *Spool, f *File) {
	t.Helper()
	_, errOpen := s.Open(t.Context(), "x", "", 3)
	_, errParked := s.Parked(t.Context())
	for doing, err := range map[string]error{
		"open": errOpen, "list": errParked, "park": f.Park("y"), "discard": s.Discard(t.Context(), "x"),
	} {
		if !errors.Is(err, ErrAway) || errors.Is(err, ErrLost) {
			t.Errorf("%s: %v", doing, err)
		}
	}
}

// A parked file that could not be opened for another reason than that it was not
// there, as on a disk with errors, cost its job an attempt each time.
func TestParkedFileCanNotBeOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := shared(t, dir, "abc")
	must(t, os.Symlink("x", filepath.Join(dir, "jobs", "x"))) // leads to itself: ELOOP
	if _, err := s.Open(t.Context(), "x", "", 3); !errors.Is(err, ErrAway) || errors.Is(err, ErrLost) {
		t.Error(err)
	}
}

// A folder of a version that did not mark it is marked by the first process, and
// the mark is no upload.
func TestParkFolderIsMarked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	park := filepath.Join(dir, "jobs")
	must(t, os.Mkdir(park, 0o700))
	must(t, os.WriteFile(filepath.Join(park, "x"), []byte("abc"), 0o600))
	for range 2 {
		s, err := New(Options{Dir: filepath.Join(dir, "spool"), Park: park})
		must(t, err)
		usage(t, s, 1, 3)
		parked, err := s.Parked(t.Context())
		if err != nil || len(parked) != 1 || parked[0].Name != "x" {
			t.Errorf("parked: %v, %v", parked, err)
		}
		g, err := s.Open(t.Context(), "x", "", 3)
		must(t, err)
		must(t, g.Close())
	}
	if names := list(t, park); len(names) != 2 || !strings.HasPrefix(names[0], marker) {
		t.Errorf("the folder holds %v", names)
	}
}

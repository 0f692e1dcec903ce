package spool

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unfinished begins the names that copies have until they are whole.
const unfinished = ".unfinished-"

// Keep leaves a copy of the file, synced to disk, under name in Options.Kept; it
// does nothing where no upload is kept. A copy, because a file that never had a
// name can't be given one. What is kept already stays as it is. The error wraps
// ErrFull when there is no room, and otherwise ErrAway: the file is not to blame.
func (f *File) Keep(name string) error {
	if !f.spool.keep {
		return nil
	}
	folder, err := os.OpenRoot(f.spool.kept)
	if err != nil {
		return unkept(err)
	}
	defer func() { _ = folder.Close() }()
	_, err = folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = f.keep(folder, name)
	}
	if err != nil {
		return unkept(err)
	}
	return nil
}

// unkept says why a file could not be kept: for want of room, or because its folder
// can't be used.
func unkept(err error) error {
	if err = full(err); !errors.Is(err, ErrFull) {
		err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	return fmt.Errorf("spool: keep an upload: %w", err)
}

// keep gives the copy its name when it is whole: a process may be killed meanwhile,
// and the next one that has the job takes what has the name for the upload. One
// that keeps it at the same time has the same bytes.
func (f *File) keep(folder *os.Root, name string) error {
	part := unfinished + rand.Text()
	err := f.copyTo(folder, part)
	if err == nil {
		err = folder.Rename(part, name)
	}
	if err != nil {
		return errors.Join(err, removed(folder, part))
	}
	dir, err := folder.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Purge deletes kept uploads that were last written before then, and what a killed
// process did not finish, and returns how many; also where no more are kept. What else
// lies in the folder stays. One that can't be deleted keeps no other; the error is that of
// the first.
func (s *Spool) Purge(then time.Time) (n int, err error) {
	if s.kept == "" {
		return 0, nil
	}
	entries, err := os.ReadDir(s.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("spool: list kept uploads: %w", err)
	}
	stuck, first := 0, error(nil)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !s.isKept(info) || !info.ModTime().Before(then) {
			continue // gone already, none of ours, or too young
		}
		switch err := os.Remove(filepath.Join(s.kept, e.Name())); {
		case err == nil:
			n++
		case !errors.Is(err, fs.ErrNotExist):
			stuck, first = stuck+1, cmp.Or(first, err)
		}
	}
	if stuck > 0 {
		return n, fmt.Errorf("spool: delete kept uploads: %d are left: %w", stuck, first)
	}
	return n, nil
}

// isKept says whether a file is an upload that was kept, or a part of one.
func (s *Spool) isKept(f fs.FileInfo) bool {
	return f.Mode().IsRegular() && (strings.HasPrefix(f.Name(), s.names) || strings.HasPrefix(f.Name(), unfinished))
}

// sameFolder says whether two paths lead to one folder that is there.
func sameFolder(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

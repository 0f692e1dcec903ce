package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Park gives the file a name in Options.Park, by which Open finds it in this
// process or a later one. When it returns nil the file and its name are on disk:
// they survive a power failure. It stays open and can be read on. Nothing may be
// written to it any more. The error wraps ErrFull when there is no room.
func (f *File) Park(name string) error {
	path, err := f.spool.parked(name)
	if err != nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return fmt.Errorf("spool: write an upload to disk: %w", full(err))
	}
	// The one way to name a file without one that takes no privilege (open(2)).
	own := "/proc/self/fd/" + strconv.Itoa(int(f.file.Fd()))
	if unix.Linkat(unix.AT_FDCWD, own, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW) != nil {
		err = f.copyTo(path)
	}
	if err == nil {
		err = syncFolder(f.spool.park)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("spool: park an upload: %w", full(err)), removed(path))
	}
	f.stays = true
	return nil
}

// copyTo writes the file to path, synced, where its file system can't name it.
func (f *File) copyTo(path string) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(f.file, 0, f.size))
	return errors.Join(err, to.Sync(), to.Close())
}

// Open opens a parked file for reading; sum is its SHA-256, which is not
// calculated again. The error matches fs.ErrNotExist when it is not there. The
// caller closes it.
func (s *Spool) Open(name, sum string) (*File, error) {
	path, err := s.parked(name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("spool: open a parked upload: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spool: measure a parked upload: %w", err), file.Close())
	}
	return &File{spool: s, file: file, sum: sum, size: info.Size(), stays: true}, nil
}

// Discard removes a parked file and gives its room back. One that is not there
// is no error.
func (s *Spool) Discard(name string) error {
	path, err := s.parked(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool: measure a parked upload: %w", err)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("spool: remove a parked upload: %w", err)
	}
	s.bytes.Add(-info.Size())
	s.files.Add(-1)
	return nil
}

// Parked lists the names of the parked files.
func (s *Spool) Parked() ([]string, error) {
	if s.park == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(s.park)
	if err != nil {
		return nil, fmt.Errorf("spool: list parked uploads: %w", err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// countParked books the room of what an earlier process parked.
func (s *Spool) countParked() error {
	names, err := s.Parked()
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := os.Stat(filepath.Join(s.park, name))
		if err != nil {
			return fmt.Errorf("spool: measure a parked upload: %w", err)
		}
		s.files.Add(1)
		s.bytes.Add(info.Size())
	}
	return nil
}

// parked is the path of a parked file. Names come from us; one that leads
// elsewhere is a mistake.
func (s *Spool) parked(name string) (string, error) {
	if s.park == "" || name == "" || filepath.Base(name) != name || name == "." || name == ".." {
		return "", fmt.Errorf("spool: %q can't be parked", name)
	}
	return filepath.Join(s.park, name), nil
}

func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// removed removes what may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

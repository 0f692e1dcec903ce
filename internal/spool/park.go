package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// What Open and Park say of a parked upload or of where it is kept. Wherever that
// is, they mean the same.
var (
	// ErrLost says that no upload is parked under the name.
	ErrLost = errors.New("the upload is gone")
	// ErrDamaged says that what is parked is not what was.
	ErrDamaged = errors.New("the upload is not what was received")
	// ErrAway says that uploads can neither be parked nor opened for now.
	ErrAway = errors.New("the store of the uploads can't be used")
)

// Parked is what is known of a parked upload without opening it.
type Parked struct {
	Name string
	Age  time.Duration // since it was written, by the clock of what keeps it
}

// Park is that of f, for who keeps uploads elsewhere as well.
func (s *Spool) Park(_ context.Context, name string, f *File) error { return f.Park(name) }

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
	f.spool.parkedFiles.Add(1)
	f.spool.parkedBytes.Add(f.size)
	f.spool.files.Add(-1)
	f.spool.bytes.Add(-f.size)
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
// calculated again, and size its length, 0 when that is not known. The error
// matches ErrLost when it is not there and ErrDamaged when it has another size.
// The caller closes it.
func (s *Spool) Open(_ context.Context, name, sum string, size int64) (*File, error) {
	path, err := s.parked(name)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("spool: %w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, fmt.Errorf("spool: open a parked upload: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spool: measure a parked upload: %w", err), file.Close())
	}
	if size > 0 && info.Size() != size {
		return nil, errors.Join(fmt.Errorf("spool: %w: it has %d bytes and had %d", ErrDamaged, info.Size(), size), file.Close())
	}
	return &File{spool: s, file: file, sum: sum, size: info.Size(), stays: true}, nil
}

// Discard removes a parked file and gives its room back. One that is not there
// is no error.
func (s *Spool) Discard(_ context.Context, name string) error {
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
	s.parkedBytes.Add(-info.Size())
	s.parkedFiles.Add(-1)
	return nil
}

// Parked lists the parked files.
func (s *Spool) Parked(context.Context) ([]Parked, error) {
	var parked []Parked
	err := s.eachParked(func(info fs.FileInfo) {
		parked = append(parked, Parked{info.Name(), time.Since(info.ModTime())})
	})
	return parked, err
}

// eachParked calls fn for the parked files.
func (s *Spool) eachParked(fn func(fs.FileInfo)) error {
	if s.park == "" {
		return nil
	}
	entries, err := os.ReadDir(s.park)
	if err != nil {
		return fmt.Errorf("spool: list parked uploads: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has discarded it
		}
		if err != nil {
			return fmt.Errorf("spool: measure a parked upload: %w", err)
		}
		if info.Mode().IsRegular() {
			fn(info)
		}
	}
	return nil
}

// countParked books the room of what is parked, by whatever process.
func (s *Spool) countParked() error {
	files, size := int64(0), int64(0)
	err := s.eachParked(func(info fs.FileInfo) {
		files++
		size += info.Size()
	})
	if err == nil {
		s.parkedFiles.Store(files)
		s.parkedBytes.Store(size)
	}
	return err
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

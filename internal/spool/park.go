package spool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// What Open, Park and Keep say of an upload or of where it stays. Wherever that is, they
// mean the same.
var (
	// ErrLost says that no upload is parked under the name.
	ErrLost = errors.New("the upload is gone")
	// ErrDamaged says that what is parked is not what was.
	ErrDamaged = errors.New("the upload is not what was received")
	// ErrAway says that uploads can't be parked, opened or kept for now.
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
// written to it any more. The error wraps ErrFull when there is no room, or ErrUsedUp
// when what is parked would leave too little to uploads that arrive, and
// ErrAway when the folder is not there.
func (f *File) Park(name string) error {
	if err := f.spool.startParking(f.size); err != nil {
		return err
	}
	defer f.spool.parking(-1, f.size)
	folder, err := f.spool.folderFor(name)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	if err := f.sync(); err != nil {
		return fmt.Errorf("spool: write an upload to disk: %w", full(err))
	}
	if err := f.name(folder, name); err != nil {
		return errors.Join(fmt.Errorf("spool: park an upload: %w", full(err)), removed(folder, name))
	}
	f.stays = true
	f.spool.parkedFiles.Add(1)
	f.spool.parkedBytes.Add(f.size)
	f.spool.files.Add(-1)
	f.spool.bytes.Add(-f.size)
	return nil
}

// arriving is the part of the capacity that parked uploads leave to those that arrive. Jobs may
// wait for hours, and people's files would wait for them to be done.
const arriving = 4

// startParking books room for n bytes that are being parked, until parking gives it back.
func (s *Spool) startParking(n int64) error {
	if s.parking(1, n) {
		return nil
	}
	s.parking(-1, n)
	if err := s.recount(); err != nil {
		return err
	}
	if s.parking(1, n) {
		return nil
	}
	s.parking(-1, n)
	return fmt.Errorf("spool: %d bytes of %d wait to be judged: %w", s.parkedBytes.Load(), s.capacity, ErrUsedUp)
}

// parking books n bytes of one file more that is being parked, or, with -1, of one less, and says
// whether there is room for all of them. A single one may always be parked.
func (s *Spool) parking(files, n int64) bool {
	all, bytes := s.parkingFiles.Add(files), s.parkingBytes.Add(files*n)
	alone := all == 1 && s.parkedFiles.Load() < 1
	return s.capacity <= 0 || alone || s.parkedBytes.Load()+bytes <= s.capacity-s.capacity/arriving
}

// sync sees that what lies on the disk is there for good.
func (f *File) sync() error {
	if f.small {
		return nil
	}
	return f.file.Sync()
}

// name gives the file a name in a folder, synced.
func (f *File) name(folder *os.Root, name string) error {
	dir, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	if f.small || f.link(dir, name) != nil {
		if err := f.copyTo(folder, name); err != nil {
			return err
		}
	}
	return dir.Sync()
}

// link is the one way to name a file without a name that takes no privilege (open(2)).
func (f *File) link(dir *os.File, name string) error {
	own := "/proc/self/fd/" + strconv.Itoa(int(f.file.Fd()))
	return unix.Linkat(unix.AT_FDCWD, own, int(dir.Fd()), name, unix.AT_SYMLINK_FOLLOW)
}

// copyTo writes a copy of the file there, synced.
func (f *File) copyTo(folder *os.Root, name string) error {
	to, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, f.content())
	return errors.Join(err, to.Sync(), to.Close())
}

// Open opens a parked file for reading; sum is its SHA-256, which is not
// calculated again, and size its length, 0 when that is not known. The error
// matches ErrLost when its folder is there without it, ErrDamaged when it has
// another size, and otherwise ErrAway: whatever else keeps it from being opened,
// it may be whole. The caller closes it.
func (s *Spool) Open(_ context.Context, name, sum string, size int64) (*File, error) {
	folder, err := s.folderFor(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	file, err := folder.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("spool: %w: %w", ErrLost, err)
	}
	if err != nil {
		return nil, fmt.Errorf("spool: open a parked upload: %w: %w", ErrAway, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spool: measure a parked upload: %w: %w", ErrAway, err), file.Close())
	}
	if size > 0 && info.Size() != size {
		return nil, errors.Join(fmt.Errorf("spool: %w: it has %d bytes and had %d", ErrDamaged, info.Size(), size), file.Close())
	}
	return &File{spool: s, file: file, sum: sum, size: info.Size(), stays: true}, nil
}

// Discard removes a parked file and gives its room back. One that is not there
// is no error, but the error matches ErrAway when the folder is not there.
func (s *Spool) Discard(_ context.Context, name string) error {
	folder, err := s.folderFor(name)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	s.counting.Lock()
	defer s.counting.Unlock()
	info, err := folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("spool: measure a parked upload: %w", err)
	}
	if err := folder.Remove(name); err != nil {
		return fmt.Errorf("spool: remove a parked upload: %w", err)
	}
	if s.parkedFiles.Load() < 1 || s.parkedBytes.Load() < info.Size() {
		return s.countParked() // it was another process that parked it, and maybe more
	}
	s.parkedBytes.Add(-info.Size())
	s.parkedFiles.Add(-1)
	return nil
}

// Parked lists the parked files. The error matches ErrAway when their folder is
// not there.
func (s *Spool) Parked(context.Context) ([]Parked, error) {
	if s.park == "" {
		return nil, nil
	}
	now, err := s.clock()
	if err != nil {
		return nil, err
	}
	var parked []Parked
	err = s.eachParked(func(info fs.FileInfo) {
		parked = append(parked, Parked{info.Name(), now.Sub(info.ModTime())})
	})
	return parked, err
}

// now is the time by the clock that dates the parked files, which is a file server's where
// one keeps them: the time at which the folder's mark was touched last, which it is for that.
func (s *Spool) now() (time.Time, error) {
	folder, err := s.folder()
	if err != nil {
		return time.Time{}, err
	}
	defer func() { _ = folder.Close() }()
	mark, err := folder.Open(s.mark)
	if err != nil {
		return time.Time{}, fmt.Errorf("spool: %w: %w", ErrAway, err)
	}
	defer func() { _ = mark.Close() }()
	here := "/proc/self/fd/" + strconv.Itoa(int(mark.Fd()))
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, here, []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, 0); err != nil {
		return time.Time{}, fmt.Errorf("spool: touch the mark of the folder of parked uploads: %w", err)
	}
	info, err := mark.Stat()
	if err != nil {
		return time.Time{}, fmt.Errorf("spool: see when the mark of the folder of parked uploads was touched: %w", err)
	}
	return info.ModTime(), nil
}

// eachParked calls fn for the parked files.
func (s *Spool) eachParked(fn func(fs.FileInfo)) error {
	if s.park == "" {
		return nil
	}
	folder, err := s.folder()
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	list, err := names(folder)
	if err != nil {
		return fmt.Errorf("spool: list parked uploads: %w", err)
	}
	for _, name := range list {
		info, err := folder.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has discarded it
		}
		if err != nil {
			return fmt.Errorf("spool: measure a parked upload: %w", err)
		}
		if info.Mode().IsRegular() && !strings.HasPrefix(name, marker) {
			fn(info)
		}
	}
	return nil
}

// names are those in a folder, in no order.
func names(folder *os.Root) ([]string, error) {
	dir, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dir.Readdirnames(-1)
}

// recount books the room of what is parked, by whatever process.
func (s *Spool) recount() error {
	s.counting.Lock()
	defer s.counting.Unlock()
	return s.countParked()
}

// countParked is recount for who has the lock. What this process parks meanwhile
// is booked, at the worst twice, until it is counted again.
func (s *Spool) countParked() error {
	files, size := -s.parkedFiles.Load(), -s.parkedBytes.Load()
	err := s.eachParked(func(info fs.FileInfo) {
		files++
		size += info.Size()
	})
	if err == nil {
		s.parkedFiles.Add(files)
		s.parkedBytes.Add(size)
	}
	return err
}

// removed removes what may not be there.
func removed(folder *os.Root, name string) error {
	if err := folder.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

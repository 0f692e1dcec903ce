package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the names that files have for an instant where the file system
// knows no nameless ones.
const prefix = "upload-"

// ErrFull says that there is no room for an upload: the capacity is used up, or
// the file system or its quota is. It passes as soon as other files are closed.
var ErrFull = errors.New("the spool is full")

// ErrUsedUp is the ErrFull of the capacity: uploads are more than the service takes
// at once, and its disk is in order.
var ErrUsedUp = fmt.Errorf("%w: its capacity is used up", ErrFull)

// Spool makes upload files. It is safe for concurrent use.
type Spool struct {
	dir      string
	park     string
	mark     string // the name of the file in park that tells it from other folders
	kept     string
	keep     bool
	names    string
	capacity int64
	memory   int64
	named    atomic.Bool  // O_TMPFILE is not supported here
	files    atomic.Int64 // open and not parked
	bytes    atomic.Int64
	inMemory atomic.Int64              // bytes of those that lie there
	clock    func() (time.Time, error) // of the parked files

	// Parked. Other processes may park and discard there, too: then this drifts,
	// and is counted anew before an upload is refused for it, or it falls below zero.
	parkedFiles, parkedBytes   atomic.Int64
	parkingFiles, parkingBytes atomic.Int64 // that are being parked
	counting                   sync.Mutex   // held while files are discarded or counted, so that none is taken off twice
}

// New prepares the folder and removes what a killed process may have left in it.
func New(opts Options) (*Spool, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: make the folder: %w", err)
	}
	stay := []string{opts.Park}
	if opts.Keep {
		stay = append(stay, opts.Kept)
	}
	for _, dir := range stay {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("spool: make the folder of uploads that stay: %w", err)
		}
	}
	if sameFolder(opts.Kept, opts.Park) {
		if opts.Keep {
			return nil, fmt.Errorf("spool: uploads can't be kept in %s, where those of jobs wait: keep none, or have jobs' wait elsewhere", opts.Park)
		}
		opts.Kept = ""
	}
	if err := tidy(opts.Dir); err != nil {
		return nil, err
	}
	s := &Spool{dir: opts.Dir, park: opts.Park, kept: opts.Kept, keep: opts.Keep, names: opts.Names, capacity: opts.Capacity, memory: opts.Memory}
	s.clock = s.now
	if s.park == "" {
		return s, nil
	}
	var err error
	if s.mark, err = mark(s.park); err != nil {
		return nil, err
	}
	return s, s.recount()
}

// tidy removes what a killed process may have left in a folder.
func tidy(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("spool: list the folder: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		// A process that shares the folder may just have removed its own.
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("spool: remove a file left behind: %w", err)
		}
	}
	return nil
}

// Create opens an empty file for reading and writing, in memory as long as it is small. The caller closes it.
func (s *Spool) Create() (*File, error) {
	f := newFile(s)
	if f.small = s.memory > 0; !f.small {
		var err error
		if f.file, err = s.open(); err != nil {
			return nil, fmt.Errorf("spool: create a file: %w", full(err))
		}
	}
	s.files.Add(1)
	return f, nil
}

// Usage returns how many files are open or parked and how many bytes they hold.
func (s *Spool) Usage() (files, bytes int64) {
	return s.files.Load() + s.parkedFiles.Load(), s.bytes.Load() + s.parkedBytes.Load()
}

// open prefers a file that never has a name, and otherwise takes the name away
// at once.
func (s *Spool) open() (*os.File, error) {
	if !s.named.Load() {
		f, err := s.nameless()
		if !unsupported(err) {
			return f, err
		}
		s.named.Store(true)
	}
	f, err := os.CreateTemp(s.dir, prefix)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) { // one that starts removes all
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// nameless makes a file that Park can give a name.
func (s *Spool) nameless() (*os.File, error) {
	for {
		fd, err := unix.Open(s.dir, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: s.dir, Err: err}
		}
		return os.NewFile(uintptr(fd), filepath.Join(s.dir, prefix+"nameless")), nil
	}
}

// unsupported tells a file system or kernel without O_TMPFILE, which answers
// in one of these ways (open(2)).
func unsupported(err error) bool {
	return errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL)
}

// full turns the ways in which a disk is full into ErrFull.
func full(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// File is one upload: written once, then read from its start. It is not safe for
// concurrent use, except Close.
type File struct {
	spool *Spool
	sum   string // of a parked file, as its owner knows it
	size  int64
	stays bool // parked: its room is given back by Discard

	mu     sync.Mutex // guards what Close ends
	held   held       // the content while there is no file
	file   *os.File   // nil until it is needed
	hash   hash.Hash  // of what file has; nil where that will not be known
	small  bool       // not on the disk
	memory int64      // booked
	closed bool
}

func newFile(s *Spool) *File {
	return &File{spool: s, hash: sha256.New()}
}

// Write appends p. The error wraps ErrFull when there is no room, and ErrUsedUp when
// that is for the capacity.
func (f *File) Write(p []byte) (int, error) {
	if err := f.claim(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.write(p)
	f.size += int64(n)
	if err != nil {
		f.spool.bytes.Add(int64(n - len(p)))
		return n, fmt.Errorf("spool: write: %w", full(err))
	}
	return n, nil
}

// write writes to memory what is small, and else to the folder.
func (f *File) write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.small && !f.fits(int64(len(p))) {
		if err := f.toDisk(); err != nil {
			return 0, err
		}
	}
	if f.file == nil {
		f.held.write(p)
		return len(p), nil
	}
	n, err := f.file.Write(p)
	f.hash.Write(p[:n])
	return n, err
}

// claim books n bytes of the capacity before they are written.
func (f *File) claim(n int64) error {
	s := f.spool
	if s.book(n) {
		return nil
	}
	if err := s.recount(); err != nil {
		return err
	}
	if s.book(n) {
		return nil
	}
	_, used := s.Usage()
	return fmt.Errorf("spool: %d bytes of %d are in use: %w", used, s.capacity, ErrUsedUp)
}

// book takes n bytes of the capacity, or none where they are not left: those of an
// upload that is refused must not keep out another.
func (s *Spool) book(n int64) bool {
	for {
		used := s.bytes.Load()
		if s.capacity > 0 && used+n+s.parkedBytes.Load() > s.capacity {
			return false
		}
		if s.bytes.CompareAndSwap(used, used+n) {
			return true
		}
	}
}

// ReadAt implements io.ReaderAt.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return 0, os.ErrClosed
	case f.file == nil:
		return f.held.ReadAt(p, offset)
	}
	return f.file.ReadAt(p, offset)
}

// content reads all from the start.
func (f *File) content() io.Reader { return io.NewSectionReader(f, 0, f.size) }

// Rewind puts the offset back to the start and returns the file to read from.
// It stays owned by f.
func (f *File) Rewind() (*os.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("spool: open an upload: %w", full(err))
	}
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("spool: rewind: %w", err)
	}
	return f.file, nil
}

// Size is the number of bytes written.
func (f *File) Size() int64 { return f.size }

// open sees that there is a file, under mu.
func (f *File) open() error {
	switch {
	case f.closed:
		return os.ErrClosed
	case f.file != nil:
		return nil
	}
	if memory := inMemory(); memory != nil {
		return f.move(memory)
	}
	return f.toDisk()
}

// move writes the content to another file, which is the file then, under mu. The error
// leaves it as it is, and closes the other.
func (f *File) move(to *os.File) error {
	var err error
	if f.file != nil {
		_, err = io.Copy(to, io.NewSectionReader(f.file, 0, f.size))
	} else {
		_, err = f.held.WriteTo(to)
	}
	if err != nil {
		return errors.Join(err, to.Close())
	}
	_, _ = f.held.WriteTo(f.hash) // which has no errors
	f.held.free()
	f.file = to
	return nil
}

// SHA256 is the hash of the bytes written, in lower-case hex. It is empty once f is
// closed and nobody has asked for the file.
func (f *File) SHA256() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hash == nil {
		return f.sum
	}
	sum := f.hash
	if f.file == nil {
		sum = sha256.New()
		_, _ = f.held.WriteTo(sum) // which has no errors
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Close gives the file's room back, unless it is parked. It is idempotent and safe for concurrent
// use; a second call returns nil.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	var err error
	if f.file != nil {
		err = f.file.Close()
	} else {
		f.hash = nil
	}
	f.held.free()
	f.forget()
	if !f.stays {
		f.spool.bytes.Add(-f.size)
		f.spool.files.Add(-1)
	}
	return err
}

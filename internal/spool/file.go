package spool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
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

	mu     sync.Mutex    // guards what Close ends
	file   *os.File      // nil while held has the content
	hash   hash.Hash     // of what file has
	held   *bytes.Buffer // nil when that is nothing
	small  bool          // in memory
	memory int64         // booked
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
	if f.small && !f.fits(int64(len(p))) {
		if err := f.toDisk(); err != nil {
			return 0, err
		}
	}
	if f.file == nil {
		return f.hold(p)
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
	if f.file == nil {
		defer f.mu.Unlock()
		return f.heldAt(p, offset)
	}
	f.mu.Unlock()
	return f.file.ReadAt(p, offset)
}

// content reads all from the start.
func (f *File) content() io.Reader { return io.NewSectionReader(f, 0, f.size) }

// Rewind puts the offset back to the start and returns the file to read from.
// It stays owned by f.
func (f *File) Rewind() (*os.File, error) {
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

// SHA256 is the hash of the bytes written, in lower-case hex.
func (f *File) SHA256() string {
	if f.hash == nil {
		return f.sum
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held == nil {
		return hex.EncodeToString(f.hash.Sum(nil))
	}
	sum := sha256.Sum256(f.held.Bytes())
	return hex.EncodeToString(sum[:])
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
	}
	f.letGo()
	f.forget()
	if !f.stays {
		f.spool.bytes.Add(-f.size)
		f.spool.files.Add(-1)
	}
	return err
}

package spool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// File is one upload: written once, hashed while it is written, then read from
// its start. It is not safe for concurrent use, except Close.
type File struct {
	spool *Spool
	file  *os.File
	hash  hash.Hash
	sum   string // of a parked file, as its owner knows it
	size  int64
	stays bool // parked: its room is given back by Discard

	small  bool  // in memory
	memory int64 // booked
	once   sync.Once
}

func newFile(s *Spool, f *os.File) *File {
	return &File{spool: s, file: f, hash: sha256.New()}
}

// Write appends p. The error wraps ErrFull when there is no room, and ErrUsedUp when
// that is for the capacity.
func (f *File) Write(p []byte) (int, error) {
	if err := f.claim(int64(len(p))); err != nil {
		return 0, err
	}
	n, err := f.write(p)
	f.size += int64(n)
	f.hash.Write(p[:n])
	if err != nil {
		f.spool.bytes.Add(int64(n - len(p)))
		return n, fmt.Errorf("spool: write: %w", full(err))
	}
	return n, nil
}

// write writes to memory what is small, and else to the folder.
func (f *File) write(p []byte) (int, error) {
	if f.small && !f.fits(int64(len(p))) {
		if err := f.toDisk(); err != nil {
			return 0, err
		}
	}
	return f.file.Write(p)
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

// Rewind puts the offset back to the start and returns the file to read from.
// It stays owned by f.
func (f *File) Rewind() (*os.File, error) {
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
	return hex.EncodeToString(f.hash.Sum(nil))
}

// Close gives the file's room back, unless it is parked. It is idempotent and safe for concurrent
// use; a second call returns nil.
func (f *File) Close() error {
	var err error
	f.once.Do(func() {
		err = f.file.Close()
		f.forget()
		if f.stays {
			return
		}
		f.spool.bytes.Add(-f.size)
		f.spool.files.Add(-1)
	})
	return err
}

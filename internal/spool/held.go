package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
)

// buffers hold what is small until somebody asks for a file: where more uploads come
// than can be judged most are never asked for, and a file in memory takes several
// system calls. They are used again, as the next upload is about as large.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// hold appends p to what is held, under mu.
func (f *File) hold(p []byte) (int, error) {
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.held == nil {
		f.held = buffers.Get().(*bytes.Buffer)
	}
	return f.held.Write(p)
}

// heldAt is ReadAt of what is held, under mu.
func (f *File) heldAt(p []byte, offset int64) (int, error) {
	switch {
	case f.closed:
		return 0, os.ErrClosed
	case f.held == nil:
		return 0, io.EOF
	}
	return bytes.NewReader(f.held.Bytes()).ReadAt(p, offset)
}

// letGo gives the buffer back, under mu: what somebody else writes to next must not
// be read here any more.
func (f *File) letGo() {
	if f.held != nil {
		f.held.Reset()
		buffers.Put(f.held)
		f.held = nil
	}
}

// open makes a file of what is held.
func (f *File) open() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file != nil {
		return nil
	}
	if f.closed {
		return os.ErrClosed
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
	switch {
	case f.file != nil:
		_, err = io.Copy(to, io.NewSectionReader(f.file, 0, f.size))
	case f.held != nil:
		_, err = to.Write(f.held.Bytes())
	}
	if err != nil {
		return errors.Join(err, to.Close())
	}
	if f.held != nil {
		f.hash.Write(f.held.Bytes())
	}
	f.letGo()
	f.file = to
	return nil
}

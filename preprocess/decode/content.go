package decode

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// content maps the file for reading and private changes. The caller gives it
// back with unmap.
func (s Source) content() ([]byte, error) {
	info, err := s.File.Stat()
	if err != nil {
		return nil, fmt.Errorf("measure the file: %w", err)
	}
	if info.Size() < s.Size || s.Size < 1 {
		return nil, errors.New("the file is shorter than announced")
	}
	data, err := unix.Mmap(int(s.File.Fd()), 0, int(s.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map the file: %w", err)
	}
	return data, nil
}

// unmap gives back what content mapped.
func unmap(data []byte) { _ = unix.Munmap(data) }

package spool

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// An upload of up to small may lie in memory while there is any, and a larger one, up to
// large, in that half of it which larger ones leave free, as long as as much stays free of that
// for others. A file on a disk, however short
// its life, costs the file system an inode: it looks for one that was not in use
// of late, so the more there were, the longer. And its hash is taken as it is written, for
// nothing if it is refused.
const (
	small = 1 << 20
	large = 16 << 20
)

// inMemory makes a file that lies in no folder, or none where the kernel has none.
func inMemory() *os.File {
	fd, err := unix.MemfdCreate(prefix+"small", unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), prefix+"small")
}

// fits books memory for n more bytes of a file that lies there, in whole blocks, or none
// where it would be too large or uploads take as much memory as they may.
func (f *File) fits(n int64) bool {
	s := f.spool
	free := s.memory/2 - s.inMemory.Load() + f.memory
	if f.size+n > max(small, min(large, free/2)) {
		return false
	}
	more := (f.size+n+blockBytes-1)/blockBytes*blockBytes - f.memory
	if s.inMemory.Add(more) > s.memory {
		s.inMemory.Add(-more)
		return false
	}
	f.memory += more
	return true
}

// toDisk moves the file to the folder. The error leaves it where it is.
func (f *File) toDisk() error {
	disk, err := f.spool.open()
	if err != nil {
		return err
	}
	old := f.file
	if err := f.move(disk); err != nil {
		return err
	}
	f.small = false
	f.forget()
	if old == nil {
		return nil
	}
	if err := old.Close(); err != nil {
		return fmt.Errorf("give memory back: %w", err)
	}
	return nil
}

// forget gives the memory back that was booked.
func (f *File) forget() {
	f.spool.inMemory.Add(-f.memory)
	f.memory = 0
}

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// NewMemory makes an empty file in memory that can grow but never shrink, so that
// what is mapped of it stays there, and that Freeze can later freeze. The caller
// closes it.
func NewMemory(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("sandbox: make a memory file: %w", err)
	}
	memory := os.NewFile(uintptr(fd), name)
	if _, err := unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		_ = memory.Close()
		return nil, fmt.Errorf("sandbox: keep a memory file from shrinking: %w", err)
	}
	return memory, nil
}

// Freeze makes the contents and the size of a memory file final, for whoever
// holds it. It fails while anyone has it mapped for writing.
func Freeze(memory *os.File) error {
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sandbox: freeze a memory file: %w", err)
	}
	return nil
}

// Map maps size bytes of a memory file, from an offset on that is a multiple of
// the page size, for reading. They must be there. Of a file that isn't frozen the
// contents may still change. The caller unmaps it; the file may be closed before.
func Map(memory *os.File, offset int64, size int) ([]byte, error) {
	// Kernels before 6.7 allow no shared mapping of a frozen file; nothing is
	// written, so that a private one shares the pages all the same.
	mapped, err := unix.Mmap(int(memory.Fd()), offset, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("sandbox: map a memory file: %w", err)
	}
	return mapped, nil
}

// Unmap gives the memory of Map back. Touching it afterwards is a crash.
func Unmap(mapped []byte) error { return unix.Munmap(mapped) }

// ReadOnly opens the file behind f anew, for reading, at offset 0. It works for
// files without a name. The caller closes it.
func ReadOnly(f *os.File) (*os.File, error) {
	opened, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return nil, fmt.Errorf("sandbox: open a file for reading: %w", err)
	}
	return opened, nil
}

package policy

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HugePages asks for huge pages behind the memory that native libraries hold at
// this moment and put no file into: the processor finds its way about in what is
// large with fewer steps then. Go's own memory is left to Go. Pages that are there
// are moved before it returns, by kernels before 6.1 later and little by little. Where
// huge pages are switched off nothing happens. See madvise(2). It is safe for
// concurrent use.
func HugePages() error {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return fmt.Errorf("list the memory: %w", err)
	}
	defer func() { _ = maps.Close() }()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		from, size, ok := native(lines.Text())
		if !ok || size < huge {
			continue
		}
		// Both are but advice: what has gone meanwhile needs none.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_HUGEPAGE)
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_COLLAPSE)
	}
	return lines.Err()
}

const huge = 2 << 20 // bytes of a page, at least

// native understands a line of maps, proc_pid_maps(5), and says whether it is
// memory of a native library: writable, private, of no file and no name, and not
// where Go has its heap.
func native(line string) (from, size uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 5 || fields[1] != "rw-p" || fields[4] != "0" {
		return 0, 0, false
	}
	begin, end, _ := strings.Cut(fields[0], "-")
	low, err := strconv.ParseUint(begin, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	high, err := strconv.ParseUint(end, 16, 64)
	if err != nil || high < low {
		return 0, 0, false
	}
	return uintptr(low), uintptr(high - low), low>>32 != goes()
}

// goes is where Go's heap begins, in units of 4 GiB, of which it fills the first.
func goes() uint64 { return uint64(uintptr(unsafe.Pointer(new([64]byte)))) >> 32 } //nolint:gosec // only the address is looked at

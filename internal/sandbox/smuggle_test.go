package sandbox

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// loot is what the files are called that a child smuggles.
const loot = "loot"

// smuggle sends files with a message that is empty, which Send can't.
func smuggle(conn *Conn) int {
	file, err := unix.MemfdCreate(loot, unix.MFD_CLOEXEC)
	if err != nil {
		return 40
	}
	raw, err := conn.unix.SyscallConn()
	if err != nil {
		return 41
	}
	rights, code := unix.UnixRights(file, file), 42
	_ = raw.Control(func(fd uintptr) {
		message := unix.Msghdr{Control: &rights[0], Controllen: uint64(len(rights))}
		if _, _, errno := unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&message)), 0); errno == 0 { //nolint:gosec // Send sends no empty messages
			code = 0
		}
		runtime.KeepAlive(rights)
	})
	_, _, _ = conn.Receive() // until it is killed
	return code
}

// An empty message is taken for the end of a child, and the files that came with it stayed open: one that
// had been taken over could leave the server hundreds of megabytes of memory with each file, for good.
func TestAnEmptyMessageLeavesNoFiles(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("smuggle"))
	if _, files, err := c.Receive(); !errors.Is(err, io.EOF) || files != nil {
		t.Errorf("received %v, %v", files, err)
	}
	c.Kill()
	<-c.Done()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range open {
		if leads, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.Contains(leads, loot) {
			t.Errorf("descriptor %s is open and leads to %s", e.Name(), leads)
		}
	}
}

package policy

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// What a library has mapped lies in huge pages afterwards, with what it held.
func TestHugePages(t *testing.T) {
	t.Parallel()
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || bytes.Contains(mode, []byte("[never]")) {
		t.Skipf("huge pages are switched off here: %s (%v)", mode, err)
	}
	memory, err := unix.Mmap(-1, 0, 16<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	require.NoError(t, err)
	defer func() { _ = unix.Munmap(memory) }()
	require.NoError(t, unix.Madvise(memory, unix.MADV_NOHUGEPAGE)) // as where only what is asked for gets them
	want := bytes.Repeat([]byte("deepfake"), len(memory)/8)
	copy(memory, want)
	require.NoError(t, HugePages())
	assert.True(t, bytes.Equal(want, memory))
	flags := flagsAt(t, uintptr(unsafe.Pointer(&memory[0]))) //nolint:gosec // only the address is looked at
	assert.Contains(t, flags, "hg")
	assert.NotContains(t, flags, "nh")
	assert.NotContains(t, flagsAt(t, uintptr(unsafe.Pointer(&want[0]))), "hg", "Go looks after its own memory") //nolint:gosec // likewise
}

// flagsAt are the VmFlags, proc_pid_smaps(5), of the mapping that holds an address.
func flagsAt(t *testing.T, address uintptr) []string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	holds := false
	for line := range strings.Lines(string(smaps)) {
		var low, high uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &low, &high); n == 2 {
			holds = low <= address && address < high
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && holds {
			return strings.Fields(flags)
		}
	}
	t.Fatal("the address is in no mapping")
	return nil
}

func TestNative(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want bool
	}{
		"a library's":   {"7f0000000000-7f0000400000 rw-p 00000000 00:00 0", true},
		"read only":     {"7f0000000000-7f0000400000 r--p 00000000 00:00 0", false},
		"shared":        {"7f0000000000-7f0000400000 rw-s 00000000 00:00 0", false},
		"of a file":     {"7f0000000000-7f0000400000 rw-p 00000000 08:02 173521 /usr/lib/libfoo.so", false},
		"named":         {"7f0000000000-7f0000400000 rw-p 00000000 00:00 0 [stack]", false},
		"of Go's heap":  {fmt.Sprintf("%x00000000-%[1]x00400000 rw-p 00000000 00:00 0", goes()), false},
		"nothing of it": {"nonsense", false},
		"no address":    {"xyz-7f0000400000 rw-p 00000000 00:00 0", false},
		"backwards":     {"7f0000400000-7f0000000000 rw-p 00000000 00:00 0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, size, ok := native(c.line)
			assert.Equal(t, c.want, ok)
			if ok {
				assert.EqualValues(t, 0x7f0000000000, from)
				assert.EqualValues(t, 4<<20, size)
			}
		})
	}
}

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What programs and their libraries are opened for.
const (
	execute = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	browse  = unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// grant lets children open what is at a path, or beneath it.
type grant struct {
	path   string
	rights uint64
}

// closeFiles closes the file system to this thread and to what it starts, but for this
// program, the folders that its libraries come from, and the list of processes. Descriptors
// that are open stay so, and files in memory are opened as ever: Landlock looks at neither. See landlock(7).
func closeFiles() error {
	version, err := landlockVersion()
	if err != nil {
		return err
	}
	grants, err := needed()
	if err != nil {
		return err
	}
	handled := forbidden(version)
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0) //nolint:gosec // a system call takes pointers
	if errno != 0 {
		return fmt.Errorf("sandbox: begin a Landlock rule set: %w", errno)
	}
	defer func() { _ = unix.Close(int(set)) }()
	for _, g := range grants {
		if err := g.add(set); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("sandbox: close the file system: %w", errno)
	}
	return nil
}

// landlockVersion is that of the kernel's interface, 1 and more.
func landlockVersion() (uintptr, error) {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("%w: %w", ErrNoLandlock, errno)
	}
	return version, nil
}

// forbidden is all that a version can forbid to open, make, change and connect. Signals it could
// forbid, too, but some versions would to the threads of the server among each other.
func forbidden(version uintptr) unix.LandlockRulesetAttr {
	all := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if version >= 2 {
		all.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		all.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		all.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		all.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// add puts the grant into a rule set. What is not there needs none, nor does
// what is in memory only, a bad descriptor to Landlock.
func (g grant) add(set uintptr) error {
	fd, err := unix.Open(g.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sandbox: let children open %s: %w", g.path, err)
	}
	defer func() { _ = unix.Close(fd) }()
	beneath := unix.LandlockPathBeneathAttr{Allowed_access: g.rights, Parent_fd: int32(fd)}                                                    //nolint:gosec // descriptors fit
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0) //nolint:gosec // a system call takes pointers
	if errno != 0 && errno != unix.EBADFD {
		return fmt.Errorf("sandbox: let children open %s: %w", g.path, errno)
	}
	return nil
}

// needed is what a child opens to become what this process is: the same program from the
// same folders, whose files an upgrade may replace meanwhile.
func needed() ([]grant, error) {
	if errLinked != nil {
		return nil, errLinked
	}
	grants := []grant{{Self, execute}, {"/etc/ld.so.cache", execute}, {"/proc", browse}} // Enter lists its descriptors there
	for _, folder := range linked {
		grants = append(grants, grant{folder, execute | browse})
	}
	return grants, nil
}

// linked are the folders of the libraries that this program is linked with. Those that it opens later, such as ONNX
// Runtime, a child does without, and they may lie beside what it is not to see.
var linked, errLinked = libraries()

// libraries lists the folders of the libraries that this process runs. The root is none.
func libraries() (folders []string, err error) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("sandbox: list the libraries: %w", err)
	}
	defer func() { _ = maps.Close() }()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if folder := filepath.Dir(library(lines.Text())); filepath.IsAbs(folder) && folder != "/" {
			folders = append(folders, folder)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders), lines.Err()
}

// library is the shared library that a line of maps, proc_pid_maps(5), has code of, if any. One
// that has been replaced on disk counts: its successor has the same folder.
func library(line string) string {
	fields := strings.Fields(line)
	at := strings.IndexByte(line, '/')
	if len(fields) < 6 || at < 0 || !strings.HasSuffix(fields[1], "xp") || !strings.Contains(filepath.Base(line[at:]), ".so") {
		return ""
	}
	return line[at:]
}

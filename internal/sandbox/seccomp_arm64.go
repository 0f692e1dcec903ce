package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

var openers = []opener{{unix.SYS_OPENAT, 2}}

// ofThisArchitecture are calls that others have under other names.
var ofThisArchitecture = []uint32{unix.SYS_FSTATAT}

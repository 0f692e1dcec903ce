package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// ofThisArchitecture are calls that others have under other names.
var ofThisArchitecture = []uint32{unix.SYS_FSTATAT}

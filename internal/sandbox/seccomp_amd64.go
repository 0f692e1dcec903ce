package sandbox

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

var openers = []opener{{unix.SYS_OPEN, 1}, {unix.SYS_OPENAT, 2}}

// ofThisArchitecture are older forms of calls, and how a thread finds its own data.
var ofThisArchitecture = []uint32{
	unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_DUP2, unix.SYS_PIPE,
	unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_EVENTFD, unix.SYS_TIME, unix.SYS_ARCH_PRCTL,
}

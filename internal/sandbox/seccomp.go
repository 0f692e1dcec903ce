package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// calls are what a child needs to compute, and to read and write what it has open. No
// connection is made, no process is started or signalled, and no limit or group is changed.
var calls = append([]uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64,
	unix.SYS_LSEEK, unix.SYS_CLOSE, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE,
	unix.SYS_FSTAT, unix.SYS_STATX, unix.SYS_FSTATFS, unix.SYS_GETDENTS64, unix.SYS_READLINKAT, unix.SYS_FACCESSAT,
	unix.SYS_GETCWD, unix.SYS_MEMFD_CREATE,
	unix.SYS_SENDMSG, unix.SYS_RECVMSG, unix.SYS_SHUTDOWN, unix.SYS_GETSOCKOPT, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME,
	unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_MSYNC,
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_SET_TID_ADDRESS,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SCHED_GETPARAM, unix.SYS_SCHED_GETSCHEDULER, unix.SYS_GETCPU,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_TIMES,
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_GETRUSAGE, unix.SYS_GETRLIMIT, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_SYSINFO,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}, ofThisArchitecture...)

// exception is a call that is allowed where one argument is one of some values.
type exception struct {
	call, argument uint32
	values         []uint32
}

// exceptions are those of a process.
func exceptions(pid int) []exception {
	return []exception{
		{unix.SYS_TGKILL, 0, []uint32{uint32(pid)}}, //nolint:gosec // it is positive
		{unix.SYS_PRLIMIT64, 2, []uint32{0}},        // to ask; nothing is set
		{unix.SYS_PRCTL, 0, []uint32{unix.PR_SET_NAME, unix.PR_SET_VMA, unix.PR_SET_DUMPABLE}},
		{unix.SYS_FCNTL, 1, []uint32{
			unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_ADD_SEALS, unix.F_GET_SEALS,
		}},
	}
}

// closeCalls takes from all threads of this process, and from those to come, the system calls that are not
// listed: these fail as if the kernel did not know them, upon which libraries do without.
// See seccomp(2).
func closeCalls() error { return load(filter(os.Getpid())) }

// load puts a filter on all threads of this process.
func load(filter []bpf.Instruction) error {
	program, err := bpf.Assemble(filter)
	if err != nil {
		return fmt.Errorf("sandbox: make a filter of system calls: %w", err)
	}
	instructions := make([]unix.SockFilter, len(program))
	for i, in := range program {
		instructions[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	whole := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]} //nolint:gosec // hundreds
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: set no-new-privileges: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&whole))) //nolint:gosec // a system call takes pointers
	switch {
	case errno != 0:
		return fmt.Errorf("sandbox: give up system calls: %w", errno)
	case thread != 0:
		return errors.New("sandbox: give up system calls: a thread has a filter of its own")
	}
	return nil
}

// Where the kernel shows a filter the call, its architecture, and its arguments, struct seccomp_data.
const (
	callAt         = 0
	architectureAt = 4
	argumentsAt    = 16
)

// What becomes of a call.
var (
	allowed = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}
	unknown = bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
)

// changing are the flags of who opens a file to write it, to make it, or to empty it, for which Landlock
// before its third version asks no more than for reading.
const changing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// opener is a call that opens files, and which of its arguments the flags are.
type opener struct{ call, flags uint32 }

// filter is the list as a program of the kernel's.
func filter(pid int) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: architectureAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: architecture, SkipTrue: 1},
		unknown,
		bpf.LoadAbsolute{Off: callAt, Size: 4},
	}
	for _, call := range calls {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, allowed)
	}
	// A new thread, and no new process.
	program = append(program, check(unix.SYS_CLONE, []bpf.Instruction{
		bpf.LoadAbsolute{Off: argumentsAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_THREAD, SkipFalse: 1},
		allowed,
	})...)
	for _, o := range openers {
		program = append(program, check(o.call, []bpf.Instruction{
			bpf.LoadAbsolute{Off: argumentsAt + 8*o.flags, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: changing, SkipTrue: 1},
			allowed,
		})...)
	}
	for _, e := range exceptions(pid) {
		program = append(program, check(e.call, e.instructions())...)
	}
	return append(program, unknown)
}

// check has instructions decide on one call. If they don't allow it, it is unknown.
func check(call uint32, then []bpf.Instruction) []bpf.Instruction {
	rest := uint8(len(then) + 1) //nolint:gosec // a few
	return slices.Concat([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: rest}}, then, []bpf.Instruction{unknown})
}

// instructions allow the call for the values. Arguments have 64 bits, values 32.
func (e exception) instructions() []bpf.Instruction {
	low := argumentsAt + 8*e.argument
	refuse := uint8(2*len(e.values) + 1) //nolint:gosec // a few
	out := []bpf.Instruction{
		bpf.LoadAbsolute{Off: low + 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: refuse},
		bpf.LoadAbsolute{Off: low, Size: 4},
	}
	for _, v := range e.values {
		out = append(out, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, allowed)
	}
	return out
}

package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// KilledFromOutside says whether the process ended by SIGKILL, and not by Kill: the kernel
// sends that when memory runs out, and so may anybody else. No limit of Options ends a process
// so, but for CPUSeconds; the process itself can. Call it after Done.
func (c *Child) KilledFromOutside() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd.ProcessState == nil {
		return false // it could not be waited for
	}
	status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL && !c.doomed
}

// Peak is the most memory that the process had in its life, in bytes: 0 if that is not
// known, and never less than what this process had when it started it, whose memory it
// shares until it runs a program (exec_mmap in the kernel counts that in). Files in
// memory count where they are mapped. Call it after Done.
func (c *Child) Peak() uint64 {
	if c.cmd.ProcessState == nil {
		return 0
	}
	used, ok := c.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return inBytes(used.Maxrss)
}

// OwnPeak is the most memory that this process had in its life.
func OwnPeak() uint64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return inBytes(used.Maxrss)
}

// inBytes is an amount that the kernel has in units of 1,024 bytes.
func inBytes(kib int64) uint64 { return uint64(max(kib, 0)) << 10 }

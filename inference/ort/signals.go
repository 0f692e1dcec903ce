package ort

import (
	"errors"
	"syscall"
	"unsafe"
)

// lastSignal is the highest signal number of Linux.
const lastSignal = 64

// action is the kernel's struct sigaction of 64-bit Linux: handler, flags,
// restorer and mask. What it holds is not looked at.
type action [4]uint64

// keepSignals runs fn and then makes every signal do again what it did before.
// NVIDIA's libraries install handlers of their own when they are loaded and first
// used, after which SIGTERM would no longer reach the Go program.
func keepSignals(fn func() error) error {
	var before [lastSignal + 1]action
	for n := 1; n <= lastSignal; n++ {
		if err := sigaction(n, nil, &before[n]); err != nil {
			return err
		}
	}
	err := fn()
	for n := 1; n <= lastSignal; n++ {
		if syscall.Signal(n) == syscall.SIGKILL || syscall.Signal(n) == syscall.SIGSTOP {
			continue // nobody changes these
		}
		err = errors.Join(err, sigaction(n, &before[n], nil))
	}
	return err
}

// sigaction is rt_sigaction(2). libc's function hides signals of its own.
func sigaction(n int, set, old *action) error {
	const maskBytes = 8
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(n),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), maskBytes, 0, 0) //nolint:gosec // a system call takes pointers
	if errno != 0 {
		return errno
	}
	return nil
}

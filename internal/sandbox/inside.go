package sandbox

import (
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Enter is the first thing that a child does: it closes descriptors that native
// libraries of the server have let slip, ends the process when its processor time is
// used up (the Go runtime would ignore SIGXCPU until the hard limit), and gives up
// what system calls it does not need. The goroutine that it starts lives as long as the process.
func Enter() error {
	if err := closeInherited(); err != nil {
		return err
	}
	exhausted := make(chan os.Signal, 1)
	signal.Notify(exhausted, unix.SIGXCPU)
	go func() {
		<-exhausted
		_, _ = os.Stderr.WriteString("the processor time of one file is used up\n")
		os.Exit(ExitCPU)
	}()
	return giveUpCalls()
}

// ExitCPU is the exit status of a child that ran out of processor time.
const ExitCPU = 24

// closeInherited closes every descriptor but the standard ones, the socket, and
// the anonymous ones that the Go runtime polls with.
func closeInherited() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= inheritedFd {
			continue
		}
		target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name()))
		if err != nil || strings.HasPrefix(target, "anon_inode:") {
			continue // gone already: the directory's own descriptor
		}
		_ = unix.Close(fd)
	}
	return nil
}

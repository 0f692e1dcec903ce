package sandbox

import (
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Child is a running process. Its methods are safe for concurrent use, those of
// Conn as that says.
type Child struct {
	*Conn

	cmd    *exec.Cmd
	stderr excerpt
	done   chan struct{}
	err    error // how it ended; set before done is closed
}

// Pid is the process id. It may be another process's after Done.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended and has been waited for.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended. Call it after Done.
func (c *Child) Err() error { return c.err }

// Stderr is the beginning of what the child has written to its standard error
// since the last ResetStderr.
func (c *Child) Stderr() string { return c.stderr.String() }

// ResetStderr forgets what was written.
func (c *Child) ResetStderr() { c.stderr.Reset() }

// Kill ends the child and what it may have started. It does not wait.
func (c *Child) Kill() {
	select {
	case <-c.done: // its number may be taken again
	default:
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// AllowCPU lets the child use d more processor time, rounded up to seconds,
// from now on. When that is used up the kernel sends SIGXCPU, every second.
func (c *Child) AllowCPU(d time.Duration) error {
	pid := c.cmd.Process.Pid
	var used unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &used); err != nil {
		return fmt.Errorf("sandbox: read the child's CPU time: %w", err)
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &now); err != nil {
		return fmt.Errorf("sandbox: read the child's CPU limit: %w", err)
	}
	soft := uint64(used.Sec) + 1 + uint64((d+time.Second-1)/time.Second) //nolint:gosec // neither is negative
	now.Cur = min(soft, now.Max)
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &now, nil); err != nil {
		return fmt.Errorf("sandbox: set the child's CPU limit: %w", err)
	}
	return nil
}

// cpuClock is the clock of all processor time of a process, as
// clock_getcpuclockid(3) makes it.
func cpuClock(pid int) int32 { return ^int32(pid)<<3 | 2 } //nolint:gosec // process ids fit

// wait reaps the process. Wait also returns once standard error is at its end,
// or a second after the exit if something else still holds it.
func (c *Child) wait() {
	err := c.cmd.Wait()
	_ = c.Close()
	if err == nil {
		err = fmt.Errorf("sandbox: the child ended by itself")
	}
	c.err = err
	close(c.done)
}

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// errEnded means that the child is no more.
var errEnded = errors.New("sandbox: the child has ended")

// Child is a running process. Its methods are safe for concurrent use, those of
// Conn as that says.
type Child struct {
	*Conn

	cmd    *exec.Cmd
	stderr excerpt
	done   chan struct{}
	err    error // how it ended; set before done is closed

	mu     sync.Mutex
	ended  bool // its number may be another's from now on
	doomed bool // Kill was called before
}

// Pid is the process id. It may be another process's after Done.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the process has ended and has been waited for.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the process ended. Call it after Done.
func (c *Child) Err() error { return c.err }

// Stderr is the beginning of what the child has written to its standard error
// since the last ResetStderr. One that writes megabytes is killed.
func (c *Child) Stderr() string { return c.stderr.String() }

// ResetStderr forgets what was written.
func (c *Child) ResetStderr() { c.stderr.Reset() }

// Kill ends the child and those of its process group. It does not wait, and
// nobody may wait without a bound: a child that let another process trace it is
// dead, but not Done, until the tracer is.
func (c *Child) Kill() { _ = c.own(c.kill) }

// kill goes for the process itself first, since it may have left its group; the
// number of the group is nobody else's as long as the process is not reaped.
func (c *Child) kill(pid int) error {
	c.doomed = true
	return errors.Join(c.cmd.Process.Kill(), syscall.Kill(-pid, syscall.SIGKILL))
}

// own calls fn with the number of the child while it is certain to be the
// child's.
func (c *Child) own(fn func(pid int) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return errEnded
	}
	return fn(c.cmd.Process.Pid)
}

// oomScore is that of a child, the highest there is.
const oomScore = "1000"

// Sacrifice has the kernel take the child first when memory runs out, and not the server.
// Call it once the child has spoken: for a moment after the start the file is root's.
func (c *Child) Sacrifice() error {
	return c.own(func(pid int) error {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(oomScore), 0); err != nil {
			return fmt.Errorf("sandbox: have the child go first when memory runs out: %w", err)
		}
		return nil
	})
}

// AllowCPU lets the child use d more processor time, rounded up to seconds,
// from now on. When that is used up the kernel sends SIGXCPU, every second.
func (c *Child) AllowCPU(d time.Duration) error {
	return c.own(func(pid int) error { return allowCPU(pid, d) })
}

func allowCPU(pid int, d time.Duration) error {
	used, err := cpuTime(pid)
	if err != nil {
		return err
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, nil, &now); err != nil {
		return fmt.Errorf("sandbox: read the child's CPU limit: %w", err)
	}
	soft := uint64(used/time.Second) + 1 + uint64((d+time.Second-1)/time.Second) //nolint:gosec // neither is negative
	now.Cur = min(soft, now.Max)
	if err := unix.Prlimit(pid, unix.RLIMIT_CPU, &now, nil); err != nil {
		return fmt.Errorf("sandbox: set the child's CPU limit: %w", err)
	}
	return nil
}

// CPUTime is how much processor time the child has used in its life.
func (c *Child) CPUTime() (used time.Duration, err error) {
	err = c.own(func(pid int) error {
		used, err = cpuTime(pid)
		return err
	})
	return used, err
}

func cpuTime(pid int) (time.Duration, error) {
	var used unix.Timespec
	if err := unix.ClockGettime(cpuClock(pid), &used); err != nil {
		return 0, fmt.Errorf("sandbox: read the child's CPU time: %w", err)
	}
	return time.Duration(used.Nano()), nil
}

// cpuClock is the clock of all processor time of a process, as
// clock_getcpuclockid(3) makes it.
func cpuClock(pid int) int32 { return ^int32(pid)<<3 | 2 } //nolint:gosec // process ids fit

// wait reaps the process, and with it what is left of its group.
func (c *Child) wait() {
	awaitEnd(c.cmd.Process.Pid)
	_ = c.own(func(pid int) error {
		c.ended = true
		return syscall.Kill(-pid, syscall.SIGKILL)
	})
	// Wait also waits for the end of standard error, for a second if something
	// else still holds it.
	err := c.cmd.Wait()
	_ = c.Close()
	if err == nil {
		err = errors.New("sandbox: the child ended by itself")
	}
	if c.stderr.Flooded() {
		err = fmt.Errorf("%w: %w", ErrFlood, err)
	}
	c.err = err
	close(c.done)
}

// awaitEnd waits until the process has ended and leaves it to be reaped, so that
// its number stays its own.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"deepfaked/internal/policy"

	"golang.org/x/sys/unix"
)

// ErrClosed means that the Starter no longer starts anything.
var ErrClosed = errors.New("sandbox: closed")

// Starter forks all of its children from one thread of its own. The kernel
// sends the parent-death signal when the forking thread ends, not when the
// process does, and Go may end any thread that a goroutine has locked: a child
// forked from elsewhere could be killed at random. It is safe for concurrent
// use.
type Starter struct {
	confinement Confinement
	missing     error    // why children go without Landlock
	nothing     *os.File // what children read and write in place of a terminal; the thread can't open it
	requests    chan func()
	closing     chan struct{}
	closed      chan struct{}
}

// NewStarter shields this process for good from what it will start, and starts
// the thread. The caller closes it.
func NewStarter(confinement Confinement) (*Starter, error) {
	if err := Shield(); err != nil {
		return nil, err
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s := &Starter{
		confinement: confinement, nothing: nothing,
		requests: make(chan func()), closing: make(chan struct{}), closed: make(chan struct{}),
	}
	confined := make(chan error, 1)
	go s.run(confined)
	if err := <-confined; err != nil {
		<-s.closed
		return nil, err
	}
	return s, nil
}

// run serves requests on a locked thread. It returns without unlocking, so that
// the runtime throws the confined thread away.
func (s *Starter) run(confined chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		// The first thread of a process ends with the process only. While it
		// is held here, another goroutine runs on another thread.
		go s.run(confined)
		<-s.closed
		runtime.UnlockOSThread()
		return
	}
	defer close(s.closed)
	defer func() { _ = s.nothing.Close() }()
	err := s.confine()
	confined <- err
	if err != nil {
		return
	}
	for {
		select {
		case request := <-s.requests:
			request()
		case <-s.closing:
			return
		}
	}
}

// Start starts a child. The caller kills it and waits for its end before it
// closes the Starter.
func (s *Starter) Start(opts Options) (*Child, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	type started struct {
		child *Child
		err   error
	}
	reply := make(chan started, 1)
	request := func() {
		child, err := s.start(opts)
		reply <- started{child, err}
	}
	select {
	case s.requests <- request:
		got := <-reply
		return got.child, got.err
	case <-s.closing:
		return nil, ErrClosed
	}
}

// Close ends the thread, which kills the children that still run. It must be
// called once.
func (s *Starter) Close() {
	close(s.closing)
	<-s.closed
}

// attributes of a child process: a process group of its own keeps the
// terminal's signals away, and it dies with the server.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// start runs on the starting thread.
func (s *Starter) start(opts Options) (*Child, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	child := &Child{Conn: ours, done: make(chan struct{})}
	child.cmd = exec.Command(opts.Command[0], opts.Command[1:]...) //nolint:gosec,noctx // our own binary, which lives on when the call that started it has ended
	child.cmd.Env = s.environment(opts.Env)
	child.cmd.ExtraFiles = []*os.File{theirs}
	child.cmd.Stdin, child.cmd.Stdout, child.cmd.Stderr = s.nothing, s.nothing, &child.stderr
	child.stderr.flooded = child.Kill
	child.cmd.SysProcAttr = attributes()
	child.cmd.WaitDelay = time.Second
	defer policy.Prompt()() // a child is handed what somebody waits for, and computes for a moment
	if err := child.cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, fmt.Errorf("sandbox: start the child: %w", err)
	}
	limitErr := limit(child.cmd.Process.Pid, opts)
	go child.wait()
	if limitErr != nil {
		child.Kill()
		<-child.Done()
		return nil, limitErr
	}
	return child, nil
}

// limit puts the limits on from outside, before the child is handed its first
// file. The child can neither forget them nor, unless it is root, raise them, and
// a mistake is seen here. RLIMIT_NPROC is left alone: it counts all threads of the user on the whole
// machine, so that a low value fails at random and a high one bounds nothing, and
// it does not bind root.
func limit(pid int, opts Options) error {
	for _, l := range []struct {
		name     string
		resource int
		value    uint64
	}{
		{"memory", unix.RLIMIT_AS, opts.MemoryBytes},
		{"file size", unix.RLIMIT_FSIZE, opts.FileBytes},
		{"CPU time", unix.RLIMIT_CPU, opts.CPUSeconds},
		{"open files", unix.RLIMIT_NOFILE, opts.Files},
		{"core size", unix.RLIMIT_CORE, 0},
	} {
		if err := unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}, nil); err != nil {
			return fmt.Errorf("sandbox: limit the child's %s: %w", l.name, err)
		}
	}
	return nil
}

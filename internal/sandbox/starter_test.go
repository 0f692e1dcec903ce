package sandbox

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// firstThread is the mode of a process whose main goroutine stays on the thread
// that the process began with.
const firstThread = "first thread"

func init() { //nolint:gochecknoinits // the first thread can be held from here only
	if os.Getenv(childMode) == firstThread {
		runtime.LockOSThread()
	}
}

// TestCloseOnTheFirstThread: now and then the starter ran on the first thread of
// the process, which the runtime never ends, and its children outlived Close.
func TestCloseOnTheFirstThread(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+firstThread)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// closeOnFirstThread runs a starter where it must not stay, and returns the exit
// status of the process.
func closeOnFirstThread() int {
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 13
	}
	s := &Starter{nothing: nothing, requests: make(chan func()), closing: make(chan struct{}), closed: make(chan struct{})}
	confined, status := make(chan error, 1), make(chan int)
	go func() {
		if err := <-confined; err != nil {
			status <- 10
			return
		}
		c, err := s.Start(testOptions("spin"))
		if err != nil {
			status <- 11
			return
		}
		s.Close()
		select {
		case <-c.Done():
			status <- 0
		case <-time.After(2 * time.Minute):
			c.Kill()
			status <- 12
		}
	}()
	s.run(confined)
	return <-status
}

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// secret names a file of the server's in the child's environment.
const secret = "DEEPFAKED_TEST_SECRET"

// tried is what came of the attempts of a child that was taken over: the errors' texts.
type tried map[string]string

// attempts has the child do what only one does that was taken over, and what every one has to
// do, on a thread that was there before it was confined, as a library may have one, too.
func attempts(conn *Conn) int {
	message, err := json.Marshal(<-outcomes)
	if err != nil || conn.Send(message) != nil {
		return 23
	}
	return 0
}

// outcomes are those of the thread that init starts.
var outcomes, entered = make(chan tried), make(chan struct{})

func init() { //nolint:gochecknoinits // a thread must be there before Enter is
	switch os.Getenv(childMode) {
	case "attempts":
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(locked)
			<-entered
			outcomes <- attempt()
		}()
		<-locked
	case "hold", "steal":
		runtime.LockOSThread() // capabilities belong to a thread; with them one may see all, and no one sees who has more
		if dropCapabilities() != nil {
			os.Exit(24)
		}
	}
}

// attempt tries everything.
func attempt() tried {
	file := os.Getenv(secret)
	out := tried{}
	try := func(what string, err error) { out[what] = fmt.Sprint(unwrapped(err)) }
	_, err := os.ReadFile(file)
	try("read a file", err)
	try("write a file", os.WriteFile(file+".new", nil, 0o600))
	try("append to a file", appended(file))
	_, err = unix.Open(file, unix.O_RDONLY|unix.O_TRUNC, 0)
	try("empty a file", err)
	try("remove a file", os.Remove(file))
	_, err = os.ReadDir(filepath.Dir(file))
	try("list a folder", err)
	_, err = os.ReadFile("/proc/self/environ")
	try("read of a process", err)
	_, err = net.Dial("tcp4", "127.0.0.1:9")
	try("connect", err)
	_, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	try("make a socket", err)
	_, err = syscall.ForkExec(Self, []string{Self}, &syscall.ProcAttr{})
	try("start a process", err)
	pid, _, errno := unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	if pid == 0 && errno == 0 {
		_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	try("fork", errno)
	try("signal the server", unix.Kill(os.Getppid(), 0))
	try("signal a thread of the server", unix.Tgkill(os.Getppid(), os.Getppid(), 0))
	try("trace the server", unix.PtraceAttach(os.Getppid()))
	try("leave the group", unix.Setpgid(0, 0))
	_, err = unix.Setsid()
	try("leave the session", err)
	try("outlive the server", unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0))
	try("move a limit", unix.Prlimit(0, unix.RLIMIT_CPU, &unix.Rlimit{Cur: 50, Max: 50}, nil))
	_, err = unix.FcntlInt(0, unix.F_SETOWN, os.Getppid())
	try("have a signal sent", err)
	try("open a file in memory to write it", reopened(unix.O_RDWR))

	try("ask for a limit", unix.Prlimit(0, unix.RLIMIT_CPU, nil, &unix.Rlimit{}))
	try("signal itself", unix.Tgkill(os.Getpid(), unix.Gettid(), 0))
	try("open a file in memory", reopened(unix.O_RDONLY))
	try("start threads", threads(8))
	return out
}

// threads fails unless that many run at a time.
func threads(n int) error {
	var ids sync.Map
	var started, ended sync.WaitGroup
	started.Add(n)
	for range n {
		ended.Go(func() {
			runtime.LockOSThread()
			ids.Store(unix.Gettid(), true)
			started.Done()
			started.Wait()
		})
	}
	ended.Wait()
	count := 0
	ids.Range(func(any, any) bool { count++; return true })
	if count != n {
		return fmt.Errorf("%d threads ran", count)
	}
	return nil
}

// unwrapped is the number behind an error: its text has the file's name, too.
func unwrapped(err error) error {
	if number := syscall.Errno(0); errors.As(err, &number) {
		return number
	}
	return err
}

func appended(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
	}
	return err
}

// reopened opens a file in memory by its descriptor, as it is done with the clip of a film.
func reopened(flags int) error {
	memory, err := NewMemory("test")
	if err != nil {
		return err
	}
	again, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", memory.Fd()), flags|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(again)
	}
	return errors.Join(err, memory.Close())
}

// TestWhatAChildIsKeptFrom: a decoder that its file had taken over could read every other upload, the
// keys and the results, open connections, and start, trace and signal processes.
func TestWhatAChildIsKeptFrom(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := testOptions("attempts")
	opts.Env = append(opts.Env, secret+"="+path)
	var got tried
	if err := json.Unmarshal([]byte(heard(t, started(t, opts))), &got); err != nil {
		t.Fatal(err)
	}
	const denied, unknown, works = "permission denied", "function not implemented", "<nil>"
	want := tried{
		"read a file": denied, "list a folder": denied, "read of a process": denied,
		"write a file": unknown, "append to a file": unknown, "empty a file": unknown, "remove a file": unknown,
		"open a file in memory to write it": unknown, "connect": unknown, "make a socket": unknown,
		"start a process": unknown, "fork": unknown, "signal the server": unknown, "signal a thread of the server": unknown,
		"trace the server": unknown, "leave the group": unknown, "leave the session": unknown, "outlive the server": unknown,
		"move a limit": unknown, "have a signal sent": unknown,
		"ask for a limit": works, "signal itself": works, "open a file in memory": works, "start threads": works,
	}
	if _, err := landlockVersion(); err != nil {
		t.Log(err)
		for _, what := range []string{"read a file", "list a folder", "read of a process"} {
			delete(want, what)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(want)) {
		if got[what] != want[what] {
			t.Errorf("%s: %q, want %q", what, got[what], want[what])
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
}

package preprocess_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"deepfaked/internal/sandbox"
	"deepfaked/preprocess"
)

// markVariable names the file by which a child knows that it is not the first.
const markVariable = "DEEPFAKED_TEST_MARK"

// pipe ends the name of a pipe beside the mark.
const pipe = ".pipe"

// misbehave is the life of a child that does something wrong. It never returns.
func misbehave(mode string) {
	mark := os.Getenv(markVariable)
	// The first child and the others: a library disappears while the service runs,
	// or all is well again.
	if lives, several := map[string][2]string{
		"once": {"crash", "missing-library"}, "unlucky": {"crash", "look-around"},
		"relieved": {"look-around", "late"}, "unrelieved": {"look-around", "missing-library"},
		"awaits-then-crash": {"awaits", "crash"}, "crash-then-awaits": {"crash", "awaits"}, "awaits-then-well": {"awaits", "look-around"},
		"refuses-then-well": {"refuses", "look-around"},
	}[mode]; several {
		mode = lives[0]
		if _, err := os.Stat(mark); err == nil {
			mode = lives[1]
		}
		_ = os.WriteFile(mark, nil, 0o600)
	}
	if mode == "late" { // it starts once the test opens the pipe for writing, and crashes
		if _, err := os.Open(mark + pipe); err != nil {
			panic(err)
		}
		mode = "crash"
	}
	if mode == "missing-library" {
		fmt.Fprintln(os.Stderr, "error while loading shared libraries: libopencv_core.so.406")
		os.Exit(127)
	}
	if mode == "silent" {
		select {}
	}
	if mode == "trace" {
		trace()
	}
	if err := sandbox.Enter(); err != nil {
		panic(err)
	}
	conn, err := sandbox.Inherited()
	if err != nil {
		panic(err)
	}
	reply(conn, preprocess.DecodeReply{})
	for {
		message, files, err := conn.Receive()
		if err != nil {
			os.Exit(0)
		}
		var req preprocess.DecodeRequest
		if err := json.Unmarshal(message, &req); err != nil {
			panic(err)
		}
		act(mode, conn, req, files)
		sandbox.CloseAll(files)
	}
}

// act does what the mode says, with one file.
func act(mode string, conn *sandbox.Conn, req preprocess.DecodeRequest, files []*os.File) {
	good := preprocess.DecodeReply{
		ID: req.ID, Kind: preprocess.Image, Format: "PNG", Width: 1, Height: 1,
		Frames: []preprocess.FrameRef{{Width: 1, Height: 1}},
	}
	switch mode {
	case "early-crash":
		tellEarly(conn, req, files[1], 0)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "early-sound", "early-other", "early-outside", "early-nothing", "early-many", "early-noise":
		actEarly(mode, conn, req, files[1])
	case "spins-idle":
		_ = files[1].Truncate(4096)
		reply(conn, good)
		go act("spin", nil, req, nil)
	case "refuses":
		reply(conn, preprocess.DecodeReply{ID: req.ID, Code: preprocess.UnsupportedMediaType, Message: "No."})
	case "lacks-memory":
		reply(conn, preprocess.DecodeReply{ID: req.ID, Cause: "native libraries: cannot allocate memory", Leaving: true})
	case "says-last-words", "says-cause", "says-leaving", "says-message":
		speak(mode, conn, req)
	case "crash":
		fmt.Fprintln(os.Stderr, "about to crash")
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "awaits": // the end that the test makes of it
		await()
	case "awaits-but-pictures":
		if req.Format != preprocess.PNG {
			await()
		}
		_ = files[1].Truncate(4096)
		reply(conn, good)
	case "killed-large":
		takeMuch()
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "stopped":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	case "floods":
		for {
			_, _ = os.Stderr.Write(make([]byte, 1<<20))
		}
	case "spin":
		for { //nolint:staticcheck // using the processor is the point
		}
	case "hoard":
		hoard()
	case "overflow":
		_ = files[1].Truncate(req.Output + 1)
		reply(conn, good)
	case "twice":
		_ = files[1].Truncate(4096)
		reply(conn, good)
		good.Format = "second"
		reply(conn, good)
	case "traced":
		good.Format = traced()
		_ = files[1].Truncate(4096)
		reply(conn, good)
	case "no-output":
		reply(conn, good)
	case "keeps-mapping":
		_ = files[1].Truncate(4096)
		_, _ = unix.Mmap(int(files[1].Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		reply(conn, good)
	case "garbage":
		_ = conn.Send([]byte("{]"))
	case "look-around":
		good.Format = lookAround()
		_ = files[1].Truncate(4096)
		reply(conn, good)
	case "write-media":
		if _, err := files[0].WriteAt([]byte("x"), 0); err == nil {
			os.Exit(9)
		}
		_ = files[1].Truncate(4096)
		reply(conn, good)
	}
}

// await says that this child is at work, and never answers.
func await() {
	if err := os.WriteFile(os.Getenv(markVariable)+pipe, fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		panic(err)
	}
	select {}
}

// speak says what a terminal would obey.
func speak(mode string, conn *sandbox.Conn, req preprocess.DecodeRequest) {
	const words = "a line\r\n\x1b[31m\u009b2J\u202etxt.exe\x00"
	refusal := preprocess.DecodeReply{ID: req.ID, Cause: words}
	switch mode {
	case "says-last-words":
		_, _ = os.Stderr.WriteString(words)
		os.Exit(1)
	case "says-leaving":
		refusal.Leaving = true
	case "says-message":
		refusal.Code, refusal.Message = preprocess.UnsupportedMediaType, "It is \u202efake\u202c."
	}
	reply(conn, refusal)
}

// hoard takes memory until there is none.
func hoard() {
	for {
		b, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
		if err != nil {
			fmt.Fprintln(os.Stderr, "no memory:", err)
			os.Exit(3)
		}
		b[0] = 1
	}
}

// takeMuch takes more memory than a small child, or the test, has.
func takeMuch() {
	most := preprocess.DefaultPoolOptions().MemoryBytes/8 + 256<<20
	for range most / (64 << 20) {
		b, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
		if err != nil {
			panic(err)
		}
		b[0] = 1
	}
}

// traced has a process trace this one, and returns the ids of both; it is empty
// where that is not allowed.
func traced() string {
	tracer := exec.Command(sandbox.Self)
	tracer.Env = []string{childMode + "=trace"}
	tracer.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // not killed with the group
	out, err := tracer.StdoutPipe()
	if err != nil || tracer.Start() != nil {
		panic(err)
	}
	if said, _ := io.ReadAll(io.LimitReader(out, 1)); string(said) != "y" {
		return ""
	}
	return fmt.Sprintf("%d %d", os.Getpid(), tracer.Process.Pid)
}

// trace traces the parent until it is killed.
func trace() {
	runtime.LockOSThread()
	if unix.PtraceSeize(os.Getppid()) != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("y")
	<-time.After(10 * time.Minute) // far longer than a test waits
	os.Exit(0)
}

// lookAround counts what a child can see: descriptors and variables.
func lookAround() string {
	entries, _ := os.ReadDir("/proc/self/fd")
	odd := 0
	for _, e := range entries {
		target, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if strings.Contains(target, "leaked") {
			odd++
		}
	}
	return fmt.Sprintf("%d leaked, %d variables", odd, len(os.Environ()))
}

// reply sends one reply.
func reply(conn *sandbox.Conn, r preprocess.DecodeReply) {
	message, err := json.Marshal(r)
	if err == nil {
		err = conn.Send(message)
	}
	if err != nil {
		panic(err)
	}
}

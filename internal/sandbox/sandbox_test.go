package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// childMode turns the test binary into a child; its value says what it does.
const childMode = "DEEPFAKED_TEST_CHILD"

func TestMain(m *testing.M) {
	switch mode := os.Getenv(childMode); mode {
	case "":
	case firstThread:
		os.Exit(closeOnFirstThread())
	case withoutLandlock:
		os.Exit(startWithoutLandlock())
	default:
		os.Exit(child(mode))
	}
	goleak.VerifyTestMain(m)
}

// child is the life of a child.
func child(mode string) int {
	if err := Enter(); err != nil {
		return 10
	}
	close(entered)
	conn, err := Inherited()
	if err != nil {
		return 11
	}
	switch mode {
	case "limits":
		if err := conn.Send([]byte(limitsSeen())); err != nil {
			return 12
		}
	case "echo":
		return echo(conn)
	case "spin":
		for { //nolint:staticcheck // using the processor is the point
		}
	case "leave":
		return leave(conn)
	case "fork":
		return fork(conn)
	case "linger":
		<-time.After(lingering)
		return 0
	case "replaced":
		return replaced(conn)
	case "attempts":
		return attempts(conn)
	case "hold":
		return hold(conn)
	case "steal":
		return steal(conn)
	case "smuggle":
		return smuggle(conn)
	case "talk":
		fmt.Fprint(os.Stderr, strings.Repeat("x", 3*excerptBytes))
		return 7
	case "flood":
		for line := []byte(strings.Repeat("x", 1<<16)); ; { // whatever comes of it
			_, _ = unix.Write(2, line)
		}
	}
	_, _, _ = conn.Receive() // until the server hangs up
	return 0
}

// limitsSeen lists what the kernel says of this process, once the server has
// set it.
func limitsSeen() string {
	var space, size, files, core unix.Rlimit
	for space.Cur != testOptions("").MemoryBytes {
		_ = unix.Getrlimit(unix.RLIMIT_AS, &space)
	}
	for core.Max != 0 || core.Cur != 0 || files.Max == 0 { // the last to be set
		_ = unix.Getrlimit(unix.RLIMIT_CORE, &core)
		_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &files)
	}
	_ = unix.Getrlimit(unix.RLIMIT_FSIZE, &size)
	privileges, _ := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	group, _ := unix.Getpgid(0)
	return fmt.Sprintf("space %d, size %d, files %d, no new privileges %d, own group %v, environment %q",
		space.Max, size.Max, files.Max, privileges, group == os.Getpid(), os.Environ())
}

// echo writes into the file that comes with each message, and answers.
func echo(conn *Conn) int {
	for {
		message, files, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return 0
		}
		if err != nil || len(files) != 1 {
			return 13
		}
		if _, err := files[0].Write(message); err != nil {
			return 14
		}
		CloseAll(files)
		if err := conn.Send(message); err != nil {
			return 15
		}
	}
}

// testOptions starts this binary.
func testOptions(mode string) Options {
	return Options{
		Command: []string{Self}, Env: []string{childMode + "=" + mode},
		MemoryBytes: 1 << 46, FileBytes: 1 << 20, CPUSeconds: 100, Files: 32,
	}
}

// started is a child that is killed with the test.
func started(t *testing.T, opts Options) *Child {
	t.Helper()
	return startedBy(t, Confined, opts)
}

// startedBy is one that is confined so.
func startedBy(t *testing.T, confinement Confinement, opts Options) *Child {
	t.Helper()
	starter, err := NewStarter(confinement)
	if err != nil {
		t.Fatal(err)
	}
	c, err := starter.Start(opts)
	if err != nil {
		starter.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		<-c.Done()
		starter.Close()
	})
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

func TestLimitsReachTheChild(t *testing.T) {
	t.Parallel()
	c := startedBy(t, Off, testOptions("limits")) // which asks for what it could set, too
	message, _, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("space %d, size %d, files 32, no new privileges 1, own group true, environment [%q]", 1<<46, 1<<20, childMode+"=limits")
	if string(message) != want {
		t.Fatalf("got  %s\nwant %s", message, want)
	}
	if err := c.Sacrifice(); err != nil {
		t.Fatal(err)
	}
	if score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.Pid())); err != nil || string(score) != "1000\n" {
		t.Fatalf("%q, %v", score, err)
	}
}

func TestTheServerIsNotConfined(t *testing.T) {
	t.Parallel()
	started(t, testOptions("echo"))
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	confined := 0
	for _, thread := range threads {
		status, _ := os.ReadFile("/proc/self/task/" + thread.Name() + "/status")
		if strings.Contains(string(status), "NoNewPrivs:\t1") {
			confined++
		}
	}
	if confined == 0 || confined == len(threads) {
		t.Fatalf("%d of %d threads are confined", confined, len(threads))
	}
}

func TestMessagesAndDescriptors(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("echo"))
	for i := range 40 { // more than the child may hold open
		memory, err := NewMemory("test")
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("message %d", i)
		if err := c.Send([]byte(text), memory); err != nil {
			t.Fatal(err)
		}
		answer, files, err := c.Receive()
		if err != nil || len(files) != 0 || string(answer) != text {
			t.Fatalf("%q, %d files, %v", answer, len(files), err)
		}
		if err := Freeze(memory); err != nil {
			t.Fatal(err)
		}
		mapped, err := Map(memory, 0, len(text))
		if err != nil || string(mapped) != text {
			t.Fatalf("%q, %v", mapped, err)
		}
		if _, err := memory.WriteAt([]byte("x"), 0); err == nil {
			t.Error("a frozen file can be written")
		}
		if memory.Truncate(0) == nil || memory.Truncate(1<<20) == nil {
			t.Error("a frozen file can change its size")
		}
		if err := errors.Join(Unmap(mapped), memory.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := c.Send(make([]byte, MessageBytes+1)); err == nil {
		t.Error("a message that is too long is sent")
	}
}

func TestProcessorTime(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("spin"))
	if err := c.AllowCPU(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("it still runs")
	}
	if !strings.Contains(c.Err().Error(), fmt.Sprint("exit status ", ExitCPU)) || !strings.Contains(c.Stderr(), "processor time") {
		t.Fatalf("it ended with %v: %s", c.Err(), c.Stderr())
	}
	if err := c.AllowCPU(time.Second); err == nil {
		t.Error("a dead child is given time")
	}
	c.Kill() // does nothing
}

func TestStandardErrorIsBounded(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("talk"))
	<-c.Done()
	if got := c.Stderr(); len(got) != excerptBytes {
		t.Fatalf("%d bytes are kept", len(got))
	}
	if !strings.Contains(c.Err().Error(), "exit status 7") {
		t.Fatal(c.Err())
	}
	c.ResetStderr()
	if c.Stderr() != "" {
		t.Fatal("it is still there")
	}
}

// A child that wrote to its standard error without end, as one does that a file has taken over, cost the server as
// much of the processor as itself.
func TestFloodsOfStandardErrorEnd(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("flood"))
	ends(t, c)
	if got := c.Stderr(); len(got) != excerptBytes {
		t.Errorf("%d bytes are kept", len(got))
	}
	if err := c.Err(); !errors.Is(err, ErrFlood) { // it was taken for one killed for want of memory
		t.Errorf("it ended by %v", err)
	}
}

func TestReceiveHasADeadline(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("echo"))
	_ = c.SetDeadline(time.Now().Add(50 * time.Millisecond))
	if _, _, err := c.Receive(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}

// TestReceiveFromAReapedChild: on a busy machine the child that crashed was
// reaped, and its socket closed, before the one who waited for its answer had
// looked. That was taken for an answer without sense in place of a crash.
func TestReceiveFromAReapedChild(t *testing.T) {
	t.Parallel()
	c := started(t, testOptions("talk"))
	<-c.Done()
	if _, _, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Fatalf("got %v, want %v", err, io.EOF)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	starter, err := NewStarter(Confined)
	if err != nil {
		t.Fatal(err)
	}
	opts := testOptions("echo")
	opts.Command = []string{"/does/not/exist"}
	if _, err := starter.Start(opts); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := starter.Start(Options{}); err == nil {
		t.Error("empty options pass")
	}
	starter.Close()
	if _, err := starter.Start(testOptions("echo")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestChildrenDieWithTheirStarter: the kernel kills what was not waited for.
func TestChildrenDieWithTheirStarter(t *testing.T) {
	t.Parallel()
	starter, err := NewStarter(Confined)
	if err != nil {
		t.Fatal(err)
	}
	c, err := starter.Start(testOptions("spin"))
	if err != nil {
		t.Fatal(err)
	}
	starter.Close()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		c.Kill()
		t.Fatal("it outlives its starter")
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	f, err := os.OpenFile(t.TempDir(), unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.WriteString("text"); err != nil {
		t.Fatal(err)
	}
	again, err := ReadOnly(f)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if got, err := io.ReadAll(again); err != nil || string(got) != "text" {
		t.Fatalf("%q, %v", got, err)
	}
	if _, err := again.WriteString("x"); err == nil {
		t.Fatal("it can be written")
	}
}

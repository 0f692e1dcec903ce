package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// lingering is how long a child's child lives, far longer than a test waits.
const lingering = 10 * time.Minute

// leave moves the child to its parent's process group.
func leave(conn *Conn) int {
	group, err := unix.Getpgid(os.Getppid())
	if err != nil || unix.Setpgid(0, group) != nil || conn.Send([]byte("left")) != nil {
		return 16
	}
	select {}
}

// fork starts a process in a session of its own, which holds the child's socket
// and standard error.
func fork(conn *Conn) int {
	socket, err := conn.unix.File()
	if err != nil {
		return 17
	}
	cmd := exec.Command(Self)
	cmd.Env = []string{childMode + "=linger"}
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{socket}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	if cmd.Start() != nil || conn.Send([]byte(strconv.Itoa(cmd.Process.Pid))) != nil {
		return 18
	}
	select {}
}

// replaced deletes the program that this process runs, and sends what a child
// that it starts then says of itself.
func replaced(conn *Conn) int {
	program, err := os.Readlink(Self)
	if err != nil || os.Remove(program) != nil {
		return 19
	}
	starter, err := NewStarter(Confined)
	if err != nil {
		return 20
	}
	defer starter.Close()
	c, err := starter.Start(testOptions("limits"))
	if err != nil {
		return 21
	}
	message, _, err := c.Receive()
	if err != nil || conn.Send(message) != nil {
		return 22
	}
	return 0
}

// heard is the one message of a child.
func heard(t *testing.T, c *Child) string {
	t.Helper()
	message, _, err := c.Receive()
	if err != nil {
		t.Fatal(err)
	}
	return string(message)
}

// ends fails the test unless the child is done soon.
func ends(t *testing.T, c *Child) {
	t.Helper()
	select {
	case <-c.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the child is not done")
	}
}

// TestKillFindsAChildThatLeftItsGroup: only the group was signalled, so that a
// child that had gone to another lived for ever.
func TestKillFindsAChildThatLeftItsGroup(t *testing.T) {
	t.Parallel()
	c := startedBy(t, Off, testOptions("leave"))
	heard(t, c)
	c.Kill()
	ends(t, c)
}

// TestTheNumberOfAnEndedChildIsNotUsed: while a process that the child had
// started held its standard error, signals and limits went to the number of a
// child that had been reaped, by then anybody's.
func TestTheNumberOfAnEndedChildIsNotUsed(t *testing.T) {
	t.Parallel()
	c := startedBy(t, Off, testOptions("fork"))
	other, err := strconv.Atoi(heard(t, c))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Kill(other, unix.SIGKILL) }()
	c.Kill()
	for unix.Kill(c.Pid(), 0) == nil { // until it is reaped
		runtime.Gosched()
	}
	if err := c.own(func(int) error { return nil }); !errors.Is(err, errEnded) {
		t.Errorf("its number is still used: %v", err)
	}
	ends(t, c) // though its standard error is held open
}

// TestAReplacedProgramStartsChildrenOfItsOwn: after an upgrade on disk, children
// of a running server were started from the new version, or not at all.
func TestAReplacedProgramStartsChildrenOfItsOwn(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	// Written by this process, it might be "busy" with a child forked meanwhile.
	if err := exec.CommandContext(t.Context(), "cp", program, path).Run(); err != nil {
		t.Fatal(err)
	}
	opts := testOptions("replaced")
	opts.Command = []string{path}
	opts.FileBytes = 1 << 30
	heard(t, startedBy(t, Off, opts))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the program is still there:", err)
	}
}

// TestTheServerIsShielded: any process of the same user, as a child is, could
// trace the server and read its memory.
func TestTheServerIsShielded(t *testing.T) {
	t.Parallel()
	started(t, testOptions("echo"))
	if open, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); open != 0 || err != nil {
		t.Fatal(open, err)
	}
}

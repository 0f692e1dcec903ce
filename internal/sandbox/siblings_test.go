package sandbox

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dropCapabilities leaves this thread no more than its user may.
func dropCapabilities() error {
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// hold keeps the file that it is sent, shielded.
func hold(conn *Conn) int {
	_, files, err := conn.Receive()
	if err != nil || len(files) != 1 || Shield() != nil || conn.Send([]byte("held")) != nil {
		return 30
	}
	select {}
}

// steal opens what the process whose number it is sent has open, and answers how much that was.
func steal(conn *Conn) int {
	pid, _, err := conn.Receive()
	if err != nil {
		return 31
	}
	stolen := 0
	for fd := range 64 {
		if _, err := unix.Open(fmt.Sprintf("/proc/%s/fd/%d", pid, fd), unix.O_RDONLY, 0); err == nil {
			stolen++
		}
	}
	if conn.Send([]byte(strconv.Itoa(stolen))) != nil {
		return 32
	}
	return 0
}

// TestChildrenDoNotSeeEachOthersFiles: Landlock counts all children of a starter as one, and leaves
// files in memory alone, so that a child that was taken over could read what others were given.
func TestChildrenDoNotSeeEachOthersFiles(t *testing.T) {
	t.Parallel()
	starter, err := NewStarter(Confined)
	if err != nil {
		t.Fatal(err)
	}
	defer starter.Close()
	var children [2]*Child
	for i, mode := range []string{"hold", "steal"} {
		if children[i], err = starter.Start(testOptions(mode)); err != nil {
			t.Fatal(err)
		}
		defer ends(t, children[i])
		defer children[i].Kill()
		_ = children[i].SetDeadline(time.Now().Add(2 * time.Minute))
	}
	memory, err := NewMemory("upload")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	if err := children[0].Send([]byte("keep"), memory); err != nil {
		t.Fatal(err)
	}
	heard(t, children[0])
	if err := children[1].Send([]byte(strconv.Itoa(children[0].Pid()))); err != nil {
		t.Fatal(err)
	}
	if stolen := heard(t, children[1]); stolen != "0" {
		t.Errorf("%s files of the other are open to it", stolen)
	}
}

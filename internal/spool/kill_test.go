package spool

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// spoolVictim names the folder in which the process that gets killed spools.
const spoolVictim = "SPOOL_TEST_VICTIM"

// A process that is killed in the middle of an upload leaves nothing behind.
// The test runs itself as that process.
func TestKilledProcessLeavesNothing(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(spoolVictim); dir != "" {
		beKilled(t, dir)
	}
	dir := t.TempDir()
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProcessLeavesNothing$")
	victim.Env = append(os.Environ(), spoolVictim+"="+dir)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "spooled\n" {
		t.Errorf("the victim said %q, %v", line, err)
	}
	if err := victim.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = victim.Wait() // it was killed, and says so
	if names := list(t, dir); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

// beKilled spools a megabyte and waits for its end.
func beKilled(t *testing.T, dir string) {
	t.Helper()
	s, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	f, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stdout.WriteString("spooled\n"); err != nil {
		t.Fatal(err)
	}
	select {}
}

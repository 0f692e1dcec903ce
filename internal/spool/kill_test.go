package spool

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// A process that was killed while it kept an upload left a part of it under the
// upload's name. The job ran again, found the name taken, and the part was what an
// operator had to show ever after. The test runs itself as that process.
func TestKilledWhileItKeeps(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(spoolVictim); dir != "" {
		keepForLong(t, dir)
	}
	dir := t.TempDir()
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWhileItKeeps$")
	victim.Env = append(os.Environ(), spoolVictim+"="+dir)
	must(t, victim.Start())
	part := begun(t, filepath.Join(dir, "uploads"))
	must(t, victim.Process.Kill())
	_ = victim.Wait() // it was killed, and says so

	s, f := keeper(t, dir)
	_, err := f.Write([]byte("abc"))
	must(t, err)
	must(t, f.Keep("det_1"))
	if got, err := os.ReadFile(filepath.Join(dir, "uploads", "det_1")); err != nil || string(got) != "abc" {
		t.Errorf("kept %d bytes, %v", len(got), err)
	}
	old := time.Now().Add(-3 * time.Hour)
	must(t, os.Chtimes(part, old, old))
	if n, err := s.Purge(time.Now().Add(-2 * time.Hour)); n != 1 || err != nil {
		t.Errorf("%d parts deleted, %v", n, err)
	}
	if names := strings.Join(list(t, filepath.Join(dir, "uploads")), " "); names != "det_1" {
		t.Errorf("there are %s", names)
	}
}

// keeper makes a spool that keeps uploads, and a file in it.
func keeper(t *testing.T, dir string) (*Spool, *File) {
	t.Helper()
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: filepath.Join(dir, "uploads"), Keep: true, Names: "det_"})
	must(t, err)
	f, err := s.Create()
	must(t, err)
	t.Cleanup(func() { must(t, f.Close()) })
	return s, f
}

// keepForLong keeps gigabytes, of which none are on disk before.
func keepForLong(t *testing.T, dir string) {
	t.Helper()
	_, f := keeper(t, dir)
	f.size = 4 << 30
	must(t, f.file.Truncate(f.size))
	must(t, f.Keep("det_1"))
	t.Fatal("it was not killed")
}

// begun waits for the first bytes of a file in a folder and returns its path.
func begun(t *testing.T, dir string) string {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for range 60_000 {
		<-ticker.C
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && info.Size() > 0 {
				return filepath.Join(dir, e.Name())
			}
		}
	}
	t.Fatal("nothing was kept")
	return ""
}

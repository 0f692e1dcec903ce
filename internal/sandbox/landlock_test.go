package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestConfinementThatIsMissing: an operator who asks for all of it gets it or an error, and one who
// does not is told what there is not.
func TestConfinementThatIsMissing(t *testing.T) {
	t.Parallel()
	_, missing := landlockVersion()
	starter, err := NewStarter(Required)
	if (missing == nil) != (err == nil) || missing != nil && !errors.Is(err, ErrNoLandlock) {
		t.Fatalf("required: %v, where %v", err, missing)
	}
	if err == nil {
		defer starter.Close()
	}
	usual, err := NewStarter(Confined)
	if err != nil {
		t.Fatal(err)
	}
	defer usual.Close()
	if (usual.Missing() == nil) != (missing == nil) {
		t.Fatalf("told %v, where %v", usual.Missing(), missing)
	}
}

// withoutLandlock is the mode of a process whose kernel says that it has none.
const withoutLandlock = "without Landlock"

// TestWithoutLandlock: most kernels in use have it, some don't, and the service is to go on there.
func TestWithoutLandlock(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+withoutLandlock)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// startWithoutLandlock starts children where there is none, and returns the exit status of the process.
func startWithoutLandlock() int {
	deny := append([]bpf.Instruction{bpf.LoadAbsolute{Off: callAt, Size: 4}}, check(unix.SYS_LANDLOCK_CREATE_RULESET, nil)...)
	if load(append(deny, allowed)) != nil {
		return 25
	}
	if _, err := NewStarter(Required); !errors.Is(err, ErrNoLandlock) {
		return 26
	}
	starter, err := NewStarter(Confined)
	if err != nil || !errors.Is(starter.Missing(), ErrNoLandlock) {
		return 27
	}
	defer starter.Close()
	c, err := starter.Start(testOptions("talk"))
	if err != nil {
		return 28
	}
	<-c.Done()
	if !strings.Contains(c.Err().Error(), "exit status 7") {
		return 29
	}
	return 0
}

// TestLibrary: folders with blanks in their names, and libraries that an upgrade has replaced.
func TestLibrary(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"7f00-7f01 r-xp 00001000 fe:01 42                     /usr/lib/x/liba.so.1":      "/usr/lib/x/liba.so.1",
		"7f00-7f01 r-xp 00001000 fe:01 42     /opt/a folder/liba.so (deleted)":           "/opt/a folder/liba.so (deleted)",
		"7f00-7f01 r--p 00001000 fe:01 42                     /usr/lib/x/liba.so.1":      "",
		"7f00-7f01 r-xp 00000000 00:00 0                      [vdso]":                    "",
		"7f00-7f01 rwxp 00000000 00:00 0 ":                                               "",
		"7f00-7f01 r-xp 00000000 00:01 7                      /memfd:compiled (deleted)": "",
		"7f00-7f01 r-xp 00000000 fe:01 7                      /usr/bin/deepfaked":        "",
	} {
		if got := library(line); got != want {
			t.Errorf("%s: %q, want %q", strings.TrimSpace(line), got, want)
		}
	}
}

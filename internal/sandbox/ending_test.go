package sandbox

import (
	"errors"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKilledFromOutside: a child that the kernel or a person had killed looked like one that
// the server had killed itself, or that had killed itself by what it did.
func TestKilledFromOutside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode string
		end  func(*Child)
		want bool
	}{
		"by somebody else": {"echo", func(c *Child) { _ = unix.Kill(c.Pid(), unix.SIGKILL) }, true},
		"by the server":    {"echo", (*Child).Kill, false},
		"by both":          {"echo", func(c *Child) { c.Kill(); _ = unix.Kill(c.Pid(), unix.SIGKILL) }, false},
		"another signal":   {"echo", func(c *Child) { _ = unix.Kill(c.Pid(), unix.SIGSEGV) }, false},
		"no signal":        {"talk", func(*Child) {}, false},
		"processor time":   {"spin", func(c *Child) { _ = c.AllowCPU(1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			child := started(t, testOptions(c.mode))
			c.end(child)
			ends(t, child)
			if got := child.KilledFromOutside(); got != c.want {
				t.Errorf("got %v, want %v: %v", got, c.want, child.Err())
			}
			if exit := (*exec.ExitError)(nil); !errors.As(child.Err(), &exit) || child.Peak() < 1<<20 || child.Peak() > 1<<30+OwnPeak() {
				t.Errorf("%v, with a peak of %d bytes, and our own of %d", child.Err(), child.Peak(), OwnPeak())
			}
		})
	}
}

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shield hides this process from others of the same user: they can neither trace
// it nor open its memory or descriptors under /proc. Its children are not hidden,
// nor is it from who holds CAP_SYS_PTRACE, as root mostly does. There will be no
// core file. A server is shielded by NewStarter. A child calls it before it opens its
// first file, which other children, of the same Landlock domain, could get at
// otherwise; not before it has spoken, or it can't be sacrificed (Child.Sacrifice).
func Shield() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: shield the process: %w", err)
	}
	return nil
}

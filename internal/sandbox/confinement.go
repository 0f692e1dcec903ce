package sandbox

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Confinement says how much of the system is closed to children.
type Confinement string

// The values; any other means Confined.
const (
	Confined Confinement = "auto"     // files where the kernel has Landlock, and system calls
	Required Confinement = "required" // both, or no child is started
	Off      Confinement = "off"      // neither
)

// ErrNoLandlock means that the kernel has no Landlock, has it switched off, or that a
// container forbids to use it.
var ErrNoLandlock = errors.New("sandbox: Landlock is not available on this kernel or in this container, so that the file system stays open to the children")

// confinementVariable tells a child that it is to give up system calls.
const confinementVariable = "DEEPFAKED_CONFINED"

// confine restricts the starting thread, and through it every child; the rest of the
// server is not touched. What is missing that a child can do without is remembered.
func (s *Starter) confine() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("sandbox: set no-new-privileges: %w", err)
	}
	if s.confinement == Off {
		return nil
	}
	err := closeFiles()
	if errors.Is(err, ErrNoLandlock) && s.confinement != Required {
		s.missing, err = err, nil
	}
	return advised(err)
}

// advised says what an operator can do about a wall that can't be put up.
func advised(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w (decoder.confinement: off does without)", err)
}

// Missing is what a child goes without though the kernel should confine it so: nil, or an
// error that matches ErrNoLandlock.
func (s *Starter) Missing() error { return s.missing }

// environment is a child's: what it is given, and whether it gives up system calls.
func (s *Starter) environment(given []string) []string {
	own := append([]string{}, given...) // nil would mean the server's
	if s.confinement != Off {
		own = append(own, confinementVariable+"=1")
	}
	return own
}

// giveUpCalls is what a child that is to be confined does before it reads what a
// stranger has written.
func giveUpCalls() error {
	if os.Getenv(confinementVariable) == "" {
		return nil
	}
	return advised(closeCalls())
}

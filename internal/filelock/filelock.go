package filelock

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// ErrHeld says that somebody else has the lock.
var ErrHeld = errors.New("the lock is held")

// Take locks the file at path, which is made (0600) when it is absent, and does not wait: the
// error matches ErrHeld when another has it, in this process or in another one. The lock ends
// with release, which is idempotent, or with the process, however it ends.
func Take(path string) (release func() error, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	// The file stays: removing it would let two processes lock two files of the same name.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrHeld
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return sync.OnceValue(file.Close), nil
}

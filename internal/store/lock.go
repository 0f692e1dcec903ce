package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// lockName is the file in the data folder that a serving process holds.
const lockName = "deepfaked.lock"

// Claim makes this process the only one that serves the data folder, which must
// exist (Open makes it): two of them would each take the other's work for left
// behind by a crash. The claim ends with release, which is idempotent, or with
// the process, however it ends. Commands such as `keys` need no claim.
func Claim(data string) (release func() error, err error) {
	path := filepath.Join(data, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, explain(data, err)
	}
	// The file stays: removing it would let two processes lock two files of
	// the same name.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another deepfaked serves the data folder %s: stop it, or name another folder with --data", data), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return sync.OnceValue(file.Close), nil
}

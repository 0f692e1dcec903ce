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

// ErrClaimed says that another process serves the folder.
var ErrClaimed = errors.New("another deepfaked serves the data folder")

// Claim makes this process the only one that serves the data folder, which is
// made (0700) when it is absent: two of them would each take the other's work
// for left behind by a crash. It goes before Open, which may change the schema.
// The claim ends with release, which is idempotent, or with the process, however
// it ends. Commands such as `keys` need a claim only to change the schema. The
// error wraps ErrClaimed when another process has the claim.
func Claim(data string) (release func() error, err error) {
	dir, err := makeFolder(data)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, explain(dir, err)
	}
	// The file stays: removing it would let two processes lock two files of
	// the same name.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("%w %s: stop it, or name another folder with --data", ErrClaimed, data), file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	return sync.OnceValue(file.Close), nil
}

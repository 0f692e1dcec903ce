package store

import (
	"errors"
	"fmt"
	"path/filepath"

	"deepfaked/internal/filelock"
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
	release, err = filelock.Take(filepath.Join(dir, lockName))
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, fmt.Errorf("%w %s: stop it, or name another folder with --data", ErrClaimed, data)
	case err != nil:
		return nil, explain(dir, err)
	}
	return release, nil
}

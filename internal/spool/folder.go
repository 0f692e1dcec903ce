package spool

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// marker begins the name of an empty file in the folder of parked files, whose
// random rest tells the folder from whatever else its path may lead to: while its
// disk is not mounted that is a folder too, which would take uploads that the disk
// hides again when it is back.
//
// It is not the folder's device and inode: a disk can have another device number
// each time it is mounted, over NFS the client makes it up, and a folder that is
// copied to a larger disk would be another one. What tells folders apart is the
// file's name and not its content, so that it is there whole or not at all on
// every file system. Processes that start together may leave two; each goes by
// one, and both stay.
const marker = ".deepfaked-"

// mark finds the file that marks a folder, and makes it where there is none. It
// reaches the disk with the first file that is parked there, at the latest.
func mark(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("spool: list parked uploads: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), marker) && !strings.HasPrefix(e.Name(), owner) {
			return e.Name(), nil
		}
	}
	name := marker + rand.Text()
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		return "", fmt.Errorf("spool: mark the folder of parked uploads: %w", err)
	}
	return name, nil
}

// folder opens the folder of parked files. It stays the one that was looked at,
// whatever is mounted or moved meanwhile: what is not in it is lost. The error
// matches ErrAway. The caller closes it soon, or its disk can't be unmounted.
func (s *Spool) folder() (*os.Root, error) {
	folder, err := os.OpenRoot(s.park)
	if err != nil {
		return nil, fmt.Errorf("spool: %w: %w", ErrAway, err)
	}
	if _, err := folder.Lstat(s.mark); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: %w: %s is not the folder it was: %w", ErrAway, s.park, err), folder.Close())
	}
	return folder, nil
}

// folderFor is folder for a parked file. Names come from us; one that leads
// elsewhere is a mistake.
func (s *Spool) folderFor(name string) (*os.Root, error) {
	if s.park == "" || name == "" || filepath.Base(name) != name || name == "." || name == ".." {
		return nil, fmt.Errorf("spool: %q can't be parked", name)
	}
	return s.folder()
}

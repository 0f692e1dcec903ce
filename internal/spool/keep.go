package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Keep leaves a copy of the file, synced to disk, under name in Options.Keep; it
// does nothing where no upload is kept. A copy, because a file that never had a
// name can't be given one. The error wraps ErrFull when there is no room.
func (f *File) Keep(name string) (err error) {
	if f.spool.keep == "" {
		return nil
	}
	path := filepath.Join(f.spool.keep, name)
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("spool: keep an upload: %w", full(err))
	}
	_, err = io.Copy(to, io.NewSectionReader(f.file, 0, f.size))
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return errors.Join(fmt.Errorf("spool: keep an upload: %w", full(err)), os.Remove(path))
	}
	return nil
}

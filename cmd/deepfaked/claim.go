package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// claim keeps other processes of this user away from the downloads of a model: whichever is
// through first takes them away. It ends with release, or with the process.
func claim(cache, model string) (release func() error, err error) {
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return nil, fmt.Errorf("make the download folder: %w", err)
	}
	path := filepath.Join(cache, model+".lock")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write to the download folder: %w", err)
	}
	// The file stays: removing it would let two processes lock two files of the same name.
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another pull of %s is under way: wait for its end", model)
	} else if err != nil {
		err = fmt.Errorf("lock %s: %w", path, err)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}

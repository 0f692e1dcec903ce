package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"deepfaked/internal/filelock"
)

// claim keeps other processes of this user away from the downloads of a model: whichever is
// through first takes them away. It ends with release, or with the process.
func claim(cache, model string) (release func() error, err error) {
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return nil, fmt.Errorf("make the download folder: %w", err)
	}
	release, err = filelock.Take(filepath.Join(cache, model+".lock"))
	switch {
	case errors.Is(err, filelock.ErrHeld):
		return nil, fmt.Errorf("another pull of %s is under way: wait for its end", model)
	case err != nil:
		return nil, fmt.Errorf("write to the download folder: %w", err)
	}
	return release, nil
}

package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"deepfaked/internal/filename"
	"deepfaked/preprocess"
)

// maxContent bounds the files together: they are held in memory, so that reading
// them takes no time from the load.
const maxContent = 1 << 30

// file is one that is sent.
type file struct {
	name    string
	kind    preprocess.Kind // empty: not recognised
	content []byte
}

// gather reads the files and those below the folders that are named; a link stands
// for what it leads to. Of folders, hidden files and what is no file or not
// recognised as media are left out, which is said, and links to folders as well.
func gather(paths []string, stderr io.Writer) (files []file, err error) {
	left, room := 0, int64(maxContent)
	for _, named := range paths {
		root, err := resolve(named)
		if err != nil {
			return nil, err
		}
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && path != root && hidden(entry):
				return fs.SkipDir
			case entry.IsDir() || path != root && hidden(entry):
				return nil
			case path != root && !isFile(path, entry):
				left++
				return nil
			}
			f, err := read(path, &room)
			if err == nil && f.kind == "" && path != root {
				left++
				return nil
			}
			files = append(files, f)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if left > 0 {
		_, _ = fmt.Fprintf(stderr, "deepfaked-bench: files that are left out, not being media: %d\n", left)
	}
	if len(files) == 0 {
		return nil, errors.New("there is no file to send")
	}
	return files, nil
}

func hidden(entry fs.DirEntry) bool { return strings.HasPrefix(entry.Name(), ".") }

// resolve follows the links to a folder. A file keeps the name that it is given.
func resolve(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, err
	}
	return filepath.EvalSymlinks(path)
}

// isFile is false of a socket, and of a link that leads to no file. Whatever else
// can't be looked at is one, and an error when it is read.
func isFile(path string, entry fs.DirEntry) bool {
	info, err := os.Stat(path)
	if err != nil {
		return entry.Type() != fs.ModeSymlink
	}
	return info.Mode().IsRegular()
}

// read takes the file from the room that is left.
func read(path string, room *int64) (file, error) {
	info, err := os.Stat(path)
	if err != nil {
		return file{}, err
	}
	if !info.Mode().IsRegular() {
		return file{}, fmt.Errorf("%s is not a regular file", filename.Shown(path))
	}
	if *room -= info.Size(); *room < 0 {
		return file{}, fmt.Errorf("the files have more than %d MiB together", maxContent>>20)
	}
	content, err := os.ReadFile(path)
	return file{filepath.Base(path), kindOf(path, content), content}, err
}

// kindOf goes by the content, and where a container may hold one or the other, by
// the name.
func kindOf(name string, content []byte) preprocess.Kind {
	format, known := preprocess.Sniff(content[:min(len(content), 4<<10)])
	if kind := format.Kind(); !known || kind != "" {
		return kind
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".m4a", ".mka", ".oga", ".ogg", ".opus", ".aac":
		return preprocess.Audio
	}
	return preprocess.Video
}

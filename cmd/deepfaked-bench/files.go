package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	posted  payload // with --post
}

// Why files are left out, as it is said.
const (
	hiddenOnes    = "hidden files and folders that are left out"
	linkedFolders = "links to folders that are left out"
	notMedia      = "files that are left out, not being media"
	repeated      = "files that are left out, being there already under this or another name"
)

// gathering is what has been read so far.
type gathering struct {
	files []file
	known map[filename.Identity]bool
	left  map[string]int // why, and how often
	room  int64
}

// gather reads the files and those below the folders that are named; a link stands
// for what it leads to. Of folders, hidden files, links to folders and what is no file or
// not recognised as media are left out. A file that is reached twice is taken once, as it
// would be sent twice as often as others. All that is said.
func gather(paths []string, stderr io.Writer) ([]file, error) {
	g := &gathering{known: map[filename.Identity]bool{}, left: map[string]int{}, room: maxContent}
	for _, named := range paths {
		root, err := resolve(named)
		if err != nil {
			return nil, err
		}
		if err := filepath.WalkDir(root, g.below(root)); err != nil {
			return nil, err
		}
	}
	for _, why := range slices.Sorted(maps.Keys(g.left)) {
		_, _ = fmt.Fprintf(stderr, "deepfaked-bench: %s: %d\n", why, g.left[why])
	}
	if len(g.files) == 0 {
		return nil, errors.New("there is no file to send")
	}
	return g.files, nil
}

// below takes what is below a root, which may be a file itself.
func (g *gathering) below(root string) fs.WalkDirFunc {
	return func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && hidden(entry):
			g.left[hiddenOnes]++
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		if why := unfit(path, entry); why != "" && path != root {
			g.left[why]++
			return nil
		}
		return g.take(path, path == root)
	}
}

// take takes a file, which need not be media where it was named.
func (g *gathering) take(path string, named bool) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	id, identified := filename.IdentityOf(info)
	if g.known[id] && identified {
		g.left[repeated]++
		return nil
	}
	f, err := read(path, info, named, &g.room)
	switch {
	case err != nil:
		return err
	case f.kind == "" && !named:
		g.left[notMedia]++
		return nil
	}
	g.files, g.known[id] = append(g.files, f), true
	return nil
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

// unfit is why what is in a folder is left out unread; empty where it is not. Whatever
// else can't be looked at is an error when it is read.
func unfit(path string, entry fs.DirEntry) string {
	switch info, err := os.Stat(path); {
	case err != nil && entry.Type() != fs.ModeSymlink:
		return ""
	case err == nil && info.IsDir():
		return linkedFolders
	case err != nil || !info.Mode().IsRegular():
		return notMedia
	}
	return ""
}

// read takes the file from the room that is left. One of a folder that is not media takes none:
// it has no kind, and no content.
func read(path string, info fs.FileInfo, named bool, room *int64) (file, error) {
	if !info.Mode().IsRegular() {
		return file{}, fmt.Errorf("%s is not a regular file", filename.Shown(path))
	}
	head, err := beginning(path)
	f := file{name: filepath.Base(path), kind: kindOf(path, head)}
	if err != nil || f.kind == "" && !named {
		return f, err
	}
	if *room -= info.Size(); *room < 0 {
		return file{}, fmt.Errorf("the files have more than %d MiB together", maxContent>>20)
	}
	f.content, err = os.ReadFile(path)
	return f, err
}

// beginning reads as much of a file as tells what it is.
func beginning(path string) ([]byte, error) {
	from, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = from.Close() }()
	return io.ReadAll(io.LimitReader(from, preprocess.SniffBytes))
}

// kindOf goes by the content, and where a container may hold one or the other, by
// the name.
func kindOf(name string, head []byte) preprocess.Kind {
	format, known := preprocess.Sniff(head)
	if kind := format.Kind(); !known || kind != "" {
		return kind
	}
	switch strings.ToLower(filepath.Ext(name)) {
	case ".m4a", ".mka", ".oga", ".ogg", ".opus", ".aac":
		return preprocess.Audio
	}
	return preprocess.Video
}

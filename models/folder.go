package models

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// anyNames is a folder whose files may have names of any bytes, as Linux has them. Those that are
// not UTF-8 can't be had of os.DirFS and os.Root.FS.
type anyNames struct{ opener }

// opener is what *os.Root has, which follows no link out of its folder, and beneath, which does.
type opener interface {
	Open(name string) (*os.File, error)
	Stat(name string) (fs.FileInfo, error)
}

// beneath opens what has names relative to a folder.
type beneath string

func (b beneath) Open(name string) (*os.File, error)    { return os.Open(b.path(name)) }
func (b beneath) Stat(name string) (fs.FileInfo, error) { return os.Stat(b.path(name)) }
func (b beneath) path(name string) string {
	return filepath.Join(string(b), filepath.FromSlash(name))
}

// Open implements fs.FS.
func (a anyNames) Open(name string) (fs.File, error) {
	if !validName(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := a.opener.Open(name)
	if err != nil {
		return nil, called(name, err)
	}
	return f, nil
}

// Stat implements fs.StatFS.
func (a anyNames) Stat(name string) (fs.FileInfo, error) {
	if !validName(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	info, err := a.opener.Stat(name)
	return info, called(name, err)
}

// validName is fs.ValidPath, which lets nobody out by "..", for names of any bytes.
func validName(name string) bool { return fs.ValidPath(strings.ToValidUTF8(name, "?")) }

// called tells of a file by its name in the folder: callers say which that is.
func called(name string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = name
	}
	return err
}

package models

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// access is who may do what in a folder.
type access struct {
	mode     fs.FileMode // permissions
	uid, gid int         // -1: not known
}

func accessOf(folder string) (access, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return access{}, err
	}
	a := access{mode: info.Mode().Perm(), uid: -1, gid: -1}
	if of, ok := info.Sys().(*syscall.Stat_t); ok {
		a.uid, a.gid = int(of.Uid), int(of.Gid)
	}
	return a, nil
}

// give lets those use f who may use the folder, as far as this process can see to
// that: only root may give a file away, and some file systems know no owners. Whom it
// does not reach reads why f is closed to them.
func (a access) give(f *os.File, mode fs.FileMode) {
	_ = f.Chown(-1, a.gid)
	_ = f.Chown(a.uid, -1)
	_ = f.Chmod(a.mode & mode)
}

// makeFolder makes a new folder with that access.
func (a access) makeFolder(name string) error {
	if err := os.Mkdir(name, 0o700); err != nil {
		return err
	}
	// Whoever owns the folder around it may have put a link in its place since.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	a.give(f, fs.ModePerm)
	return f.Close()
}

// writeFile writes a new file with that access and waits until the disk has it.
func (a access) writeFile(name string, data []byte) error {
	return a.writeFrom(name, func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

// writeFrom does the same with what fill writes.
func (a access) writeFrom(name string, fill func(io.Writer) error) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a.give(f, 0o666)
	if err := fill(f); err != nil {
		return err
	}
	return f.Sync()
}

// makeFolders makes a folder, and those that it is in, unless they are there. Each is
// for nobody but the owner of the one that it is in.
func makeFolders(name string) error {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(name)
	if err := makeFolders(parent); err != nil {
		return err
	}
	a, err := accessOf(parent)
	if err != nil {
		return err
	}
	a.mode = 0o700
	if err := a.makeFolder(name); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

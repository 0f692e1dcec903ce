package models

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrInstalled says that a folder has a model of the name already.
var ErrInstalled = errors.New("is there already")

// licences is the folder of licences by the convention of REUSE.
const licences = "LICENSES"

// Candidate is a model folder that was read to be installed.
type Candidate struct {
	*Model
	texts map[string][]byte // the card as it was written, and the licences
}

// ReadCandidate reads the model in folder with its licence files, whose names
// begin with LICENSE, LICENCE or NOTICE or which lie in a folder LICENSES. What
// Install writes is what was read here, whatever becomes of the folder meanwhile; a file of
// weights is copied by Install, and compared with the card once more.
// The licence files must not be links out of the folder, which may be another's work:
// whoever may read the installed model would read what they lead to.
func ReadCandidate(folder string) (*Candidate, error) {
	c, err := readCandidate(folder)
	if err != nil {
		return nil, &fs.PathError{Op: "model folder", Path: folder, Err: err}
	}
	return c, nil
}

func readCandidate(folder string) (*Candidate, error) {
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return nil, syscall.ENOTDIR // opening a pipe would wait for who writes to it
	}
	root, err := os.OpenRoot(folder)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, failed.Err // the folder itself, which the caller names
	}
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	files := anyNames{beneath(folder)}
	model, err := Load(files, ".")
	if err == nil {
		err = model.FindWeights(folder)
	}
	if err != nil {
		return nil, err
	}
	card, err := readFile(files, CardFile, MaxCardBytes)
	if err != nil {
		return nil, err
	}
	c := &Candidate{Model: model, texts: map[string][]byte{CardFile: card}}
	return c, c.readLicences(anyNames{root})
}

// readLicences reads the licence files of the model's folder.
func (c *Candidate) readLicences(fsys fs.FS) error {
	var names []string
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "NOTICE*", licences + "/*"} {
		more, err := fs.Glob(fsys, pattern)
		if err != nil {
			return err
		}
		names = append(names, more...)
	}
	for _, name := range names {
		if c.Card.isFile(name) {
			continue
		}
		info, err := fs.Stat(fsys, name)
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			c.texts[name], err = readFile(fsys, name, MaxCardBytes)
		}
		if err != nil {
			return fmt.Errorf("the licence file %s, which must lie in the folder itself: %w", name, err)
		}
	}
	return nil
}

// Install writes the model to a folder of its name in dir, which it makes when
// there is none, and returns that folder. Who may read dir may read the model, also
// where root installs it for the service's user. Whoever reads dir meanwhile, or after the
// process was killed, sees the whole model or nothing of it, and of a replacement the old one or
// the new one: for a moment neither where the file system can't exchange folders. The error
// wraps ErrInstalled when the name is taken and replace is not set. dir belongs to one Install at a time.
func (c *Candidate) Install(dir string, replace bool) (string, error) {
	dir, err := whole(dir)
	if err != nil {
		return "", err
	}
	target := filepath.Join(dir, c.Card.Name)
	if _, err := os.Lstat(target); err == nil && !replace {
		return "", fmt.Errorf("the model %s %w, in %s", c.Card.Name, ErrInstalled, target)
	}
	work, same, err := stage(dir)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what is left begins with a dot, and is read by nobody
	if err := c.write(filepath.Join(work, "new"), same); err != nil {
		return "", fmt.Errorf("write the model: %w", err)
	}
	if err := place(work, target); err != nil {
		return "", err
	}
	return target, nil
}

// stage makes a folder in dir to work in, which the caller removes, and says who may read what is written.
func stage(dir string) (work string, same access, err error) {
	if work, err = workIn(dir); err != nil {
		return "", same, err
	}
	if same, err = accessOf(dir); err != nil {
		return "", same, errors.Join(fmt.Errorf("look at the folder %s: %w", dir, err), os.RemoveAll(work))
	}
	return work, same, nil
}

// place puts the folder new of work where target is, which is left in work.
func place(work, target string) error {
	if unix.Renameat2(unix.AT_FDCWD, filepath.Join(work, "new"), unix.AT_FDCWD, target, unix.RENAME_EXCHANGE) == nil {
		return nil
	}
	return placeInTurn(work, target) // there is no target, or the file system can't exchange
}

// placeInTurn moves the one away before it moves the other in.
func placeInTurn(work, target string) error {
	if err := os.Rename(target, filepath.Join(work, former)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replace the model: %w", err)
	}
	if err := os.Rename(filepath.Join(work, "new"), target); err != nil {
		return errors.Join(fmt.Errorf("put the model in its place: %w", err), putBack(work, target))
	}
	return nil
}

// whole is a folder's path from the root: the working directory may be the folder that a
// replacement moves away, and relative paths go with it. It is asked of the system, since os.Getwd
// may name a link to it, from which ".." leads elsewhere.
func whole(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	working, err := syscall.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the models folder: %w", err)
	}
	return filepath.Join(working, dir), nil
}

// installing begins the name of a folder that Install works in, and former is the model in there
// that was moved away.
const (
	installing = ".installing-"
	former     = "old"
)

// abandoned is the age of such a folder in which nobody installs anything any more: it takes seconds.
const abandoned = 24 * time.Hour

// sweep removes what was left behind by a process that was killed, but for a model that was
// moved away: it may be all that is left of it. What can't be removed is in nobody's way.
func sweep(dir string) {
	left, _ := os.ReadDir(dir)
	for _, e := range left {
		work := filepath.Join(dir, e.Name())
		_, moved := os.Lstat(filepath.Join(work, former))
		if !strings.HasPrefix(e.Name(), installing) || !errors.Is(moved, fs.ErrNotExist) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(work)
		}
	}
}

// Prepare makes the folder that Install writes to, when there is none, and says what would
// keep Install from writing there.
func Prepare(dir string) error {
	work, err := workIn(dir)
	if err != nil {
		return err
	}
	return os.Remove(work)
}

// workIn makes a folder to work in, within dir.
func workIn(dir string) (string, error) {
	if err := makeFolders(dir); err != nil {
		return "", fmt.Errorf("make the models folder: %w", err)
	}
	sweep(dir)
	work, err := os.MkdirTemp(dir, installing)
	if err != nil {
		return "", fmt.Errorf("write to the models folder: %w", err)
	}
	return work, nil
}

// putBack undoes the first half of a replacement.
func putBack(work, target string) error {
	if err := os.Rename(filepath.Join(work, former), target); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (c *Candidate) write(folder string, same access) error {
	if err := same.makeFolder(folder); err != nil {
		return err
	}
	if err := same.writeFile(filepath.Join(folder, c.Card.File), c.ONNX); err != nil {
		return err
	}
	for i, v := range c.Card.Variants {
		if err := same.writeFile(filepath.Join(folder, v.File), c.variants[i]); err != nil {
			return err
		}
	}
	if err := c.writeWeights(folder, same); err != nil {
		return err
	}
	for name, data := range c.texts {
		if strings.HasPrefix(name, licences+"/") {
			if err := same.makeFolder(filepath.Join(folder, licences)); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		if err := same.writeFile(filepath.Join(folder, name), data); err != nil {
			return err
		}
	}
	return nil
}

// writeWeights copies the file of weights, if the card names one.
func (c *Candidate) writeWeights(folder string, same access) error {
	w := c.Card.Weights
	if w == nil {
		return nil
	}
	from, err := os.Open(filepath.Join(c.Weights, w.File))
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // nothing was written
	return same.writeFrom(filepath.Join(folder, w.File), func(to io.Writer) error { return w.copy(from, from.Name(), to) })
}

// isFile says whether a name in the model's folder is that of a graph or of weights.
func (c *Card) isFile(name string) bool {
	return name == c.File || c.Weights != nil && name == c.Weights.File ||
		slices.ContainsFunc(c.Variants, func(v Variant) bool { return v.File == name })
}

package models

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// ErrNoModel says that a folder holds no model at all.
var ErrNoModel = errors.New("no " + CardFile + " was found in the folder or in its subfolders")

// Found is what came of one model folder: a model, or what is wrong with it.
type Found struct {
	Folder string // path of the folder
	Model  *Model // nil when Err is set
	Err    error  // names the folder
	Unused error  // why another model of its task is used in place of this one, which is sound; nil where it is used. Scan leaves it nil
}

// Scan reads an operator's models: dir is one model's folder or a folder of
// such folders. Subfolders without a card are passed over, as are those whose
// name begins with a dot, in which Install works, and lost+found, which only root
// may read. A model that can't be read does not keep the others from being read;
// there may be none at all. A model folder that holds others is an error of its own.
// The error is that of dir itself.
func Scan(dir string) ([]Found, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("models folder: %w: name another with --models", err)
	case err != nil:
		return nil, fmt.Errorf("models folder: %w", err) // which names it
	case !info.IsDir(): // opening a pipe would wait for who writes to it
		return nil, &fs.PathError{Op: "models folder", Path: dir, Err: syscall.ENOTDIR}
	}
	found, err := scan(anyNames{beneath(dir)}, ".")
	if err != nil {
		return nil, &fs.PathError{Op: "models folder", Path: dir, Err: err}
	}
	for i := range found {
		f := &found[i]
		f.Folder = filepath.Join(dir, filepath.FromSlash(f.Folder))
		if f.Err == nil {
			f.Err = f.Model.FindWeights(f.Folder)
		}
		if f.Err != nil {
			f.Model, f.Err = nil, &fs.PathError{Op: "model folder", Path: f.Folder, Err: f.Err}
		}
	}
	return found, nil
}

// sound returns the models, or the first error.
func sound(found []Found) ([]*Model, error) {
	var all []*Model
	for _, f := range found {
		if f.Err != nil {
			return nil, f.Err
		}
		all = append(all, f.Model)
	}
	return all, nil
}

// scan reads dir when it has a card, else its subfolders in their names' order.
// Two of a name are an error of the second.
func scan(fsys fs.FS, dir string) ([]Found, error) {
	if hasCard(fsys, dir) {
		return []Found{read(fsys, dir)}, nil
	}
	folders, err := withCards(fsys, dir)
	if err != nil {
		return nil, err
	}
	var found []Found
	names := make(map[string]string, len(folders))
	for _, folder := range folders {
		f := read(fsys, folder)
		if f.Err == nil {
			if other, ok := names[f.Model.Card.Name]; ok {
				f.Err = fmt.Errorf("its model is named %s like that in %s: rename one or take it away", f.Model.Card.Name, other)
				f.Model = nil
			} else {
				names[f.Model.Card.Name] = folder
			}
		}
		found = append(found, f)
	}
	return found, nil
}

// read reads the model of a folder that has a card. Model folders in it are an error:
// nothing reads them, and who put them there would wait for their models in vain. Of a folder
// that can't be looked into nobody knows that it is one.
func read(fsys fs.FS, folder string) Found {
	f := Found{Folder: folder}
	inner, err := withCards(fsys, folder)
	inner = slices.DeleteFunc(inner, func(other string) bool { return !seenCard(fsys, other) })
	if err == nil && len(inner) > 0 {
		err = fmt.Errorf("it holds a %s beside the model folder %s, which is not read so: move the card and its files into a folder of their own", CardFile, path.Base(inner[0]))
	}
	if err != nil {
		f.Err = err
		return f
	}
	f.Model, f.Err = Load(fsys, folder)
	return f
}

// withCards are the subfolders of dir that have a card, in their names' order.
func withCards(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		folder := path.Join(dir, entry.Name())
		if !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "lost+found" && hasCard(fsys, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

// hasCard says whether the folder has a card, or may have one: where that can't be
// found out, Load says why.
func hasCard(fsys fs.FS, folder string) bool {
	_, err := fs.Stat(fsys, path.Join(folder, CardFile))
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) // the latter: a file among folders
}

// seenCard says whether the folder has a card for sure.
func seenCard(fsys fs.FS, folder string) bool {
	_, err := fs.Stat(fsys, path.Join(folder, CardFile))
	return err == nil
}

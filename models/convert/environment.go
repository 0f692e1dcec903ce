package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// aptitude is a program that ends in a sentence where its interpreter can't make environments for conversions.
const aptitude = `import sys
if sys.version_info < (3, 11):
    sys.exit("it is Python %d.%d" % sys.version_info[:2])
import venv, ensurepip`

// Check says what Run would be missing on this machine that can be told at once: an interpreter and its venv module, unless
// an environment is kept. The packages are for Run to install.
func Check(ctx context.Context, opts Options) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	_, base, kept, err := opts.find()
	if err != nil || kept != "" {
		return err
	}
	if err := command(ctx, "", base, "-I", "-c", aptitude); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s can't be used to convert (%w): install Python 3.11 or later with its venv module (Debian and Ubuntu: apt-get install python3 python3-venv)", base, err)
	}
	return ctx.Err()
}

// find looks for what there is: the list of packages, the interpreter base to make an environment with, and
// that of an environment which has the packages already. One of the two may be empty.
func (o Options) find() (list []byte, base, kept string, err error) {
	list, err = fs.ReadFile(o.Scripts, requirements)
	if err != nil {
		return nil, "", "", fmt.Errorf("this binary was built without the conversion scripts: %w", err)
	}
	base, err = exec.LookPath(o.Python)
	if err != nil {
		if kept = o.anyKept(list); kept != "" {
			return list, "", kept, nil
		}
		return nil, "", "", fmt.Errorf("%w (%w)", ErrNoPython, err)
	}
	kept = interpreter(o.home(list, base))
	if _, err := os.Stat(kept); err != nil {
		kept = ""
	}
	return list, base, kept, nil
}

// environment returns the interpreter of the environment that has the pinned
// packages, which it makes when there is none. An environment gets its name when
// it is whole: one whose making was interrupted is never used.
func (o Options) environment(ctx context.Context) (python string, err error) {
	list, base, kept, err := o.find()
	if err != nil {
		return "", err
	}
	o.sweep()
	if kept != "" {
		return kept, nil
	}
	if err := os.MkdirAll(o.Cache, 0o750); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	work, err := os.MkdirTemp(o.Cache, making)
	if err != nil {
		return "", fmt.Errorf("write to the cache folder: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // temporary
	if err := o.install(ctx, base, work, list); err != nil {
		return "", err
	}
	home := o.home(list, base)
	return interpreter(home), keep(work, home)
}

// making begins the name of a folder in which an environment is made.
const making = ".making-"

// abandoned is the age of such a folder in which nobody makes anything any more: it takes minutes.
const abandoned = 24 * time.Hour

// sweep removes what was left behind by a process that was killed. What can't be removed
// is in nobody's way.
func (o Options) sweep() {
	left, _ := os.ReadDir(o.Cache)
	for _, e := range left {
		if !strings.HasPrefix(e.Name(), making) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(o.Cache, e.Name()))
		}
	}
}

// home is the folder of the environment that has the packages of the list and was made
// by the interpreter base: one of another version does not find the packages.
func (o Options) home(list []byte, base string) string {
	if whole, err := filepath.EvalSymlinks(base); err == nil {
		base = whole // python3.12, where base is python3
	}
	return filepath.Join(o.Cache, "python-"+short(list)+"-"+short([]byte(base)))
}

// anyKept is the interpreter of an environment that has the packages of the list, for
// when there is none to make one with; empty where there is no environment either.
func (o Options) anyKept(list []byte) string {
	homes, _ := filepath.Glob(filepath.Join(o.Cache, "python-"+short(list)+"-*"))
	for _, home := range homes {
		if _, err := os.Stat(interpreter(home)); err == nil {
			return interpreter(home)
		}
	}
	return ""
}

func interpreter(home string) string { return filepath.Join(home, "bin", "python") }

// short is enough of a checksum to tell environments by.
func short(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// keep puts the environment that was made in work in its place. What is there and has
// lost its interpreter, as when that was removed from the system, goes.
func keep(work, home string) error {
	if _, err := os.Stat(interpreter(home)); err != nil {
		if err := os.Rename(home, filepath.Join(work, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("replace the Python environment: %w", err)
		}
	}
	if err := os.Rename(filepath.Join(work, "env"), home); err != nil {
		if _, there := os.Stat(interpreter(home)); there != nil { // else another process was first
			return fmt.Errorf("keep the Python environment: %w", err)
		}
	}
	return nil
}

func (o Options) install(ctx context.Context, base, work string, list []byte) error {
	_, _ = fmt.Fprintf(o.Log, "making a Python environment for conversions in %s, once; it downloads PyTorch, and takes minutes and 6 GB there\n", o.Cache)
	if err := os.WriteFile(filepath.Join(work, requirements), list, 0o600); err != nil {
		return err
	}
	err := command(ctx, work, base, "-m", "venv", "env")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%s can't make an environment (%w): install its venv module (Debian and Ubuntu: apt-get install python3-venv)", base, err)
	}
	err = command(ctx, work, filepath.Join("env", "bin", "python"), "-m", "pip", "install", "--quiet", "-r", requirements)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("the Python packages of the conversion could not be installed: %w", err)
	}
	return nil
}

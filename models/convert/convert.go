package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// requirements lists the pinned packages, among the scripts.
const requirements = "requirements.txt"

// ErrNoPython says that there is nothing to run the scripts with.
var ErrNoPython = errors.New("python3 was not found, and converting needs it: install Python 3.11 or later with its venv module (Debian and Ubuntu: apt-get install python3 python3-venv) and call the same command again")

// Options say where things are.
type Options struct {
	Scripts fs.FS     // the Python package convert: *.py, requirements.txt and what they read
	Cache   string    // folder of the environments, one for each list of packages and interpreter
	Python  string    // interpreter that makes them; a name is looked for in PATH
	Log     io.Writer // hears what takes long
}

// Validate names the first field that makes no sense.
func (o Options) Validate() error {
	switch {
	case o.Scripts == nil:
		return errors.New("convert: scripts must be set")
	case o.Cache == "":
		return errors.New("convert: cache must name a folder")
	case o.Python == "":
		return errors.New("convert: python must name an interpreter")
	case o.Log == nil:
		return errors.New("convert: log must be set")
	}
	return nil
}

// Run makes a model folder at out of the published files in source, by the
// conversion of that name. The first call for a list of packages installs them,
// which needs a package index. The error is the script's own last line, or wraps
// ErrNoPython.
func Run(ctx context.Context, name, source, out string, opts Options) error {
	if err := opts.Validate(); err != nil {
		return err
	}
	python, err := opts.environment(ctx)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "deepfaked-convert-")
	if err != nil {
		return fmt.Errorf("convert %s: %w", name, err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // temporary
	if err := unpack(opts.Scripts, filepath.Join(work, "convert")); err != nil {
		return fmt.Errorf("unpack the conversion scripts: %w", err)
	}
	for _, path := range []*string{&source, &out} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintf(opts.Log, "converting %s\n", name)
	if err := command(ctx, work, python, "-m", "convert", name, "--source", source, "--out", out); err != nil {
		return fmt.Errorf("convert %s: %w", name, err)
	}
	return nil
}

// command runs a program in a folder. Its error is the last line that the
// program wrote.
func command(ctx context.Context, dir, program string, args ...string) error {
	var said bytes.Buffer
	c := exec.CommandContext(ctx, program, args...) //nolint:gosec // G204: the operator's own interpreter and our scripts
	c.Dir, c.Stderr = dir, &said
	c.WaitDelay = time.Second // for its children, which have the same standard error and may outlive it
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1", "ORT_DISABLE_TELEMETRY=1")
	err := c.Run()
	if err == nil || ctx.Err() != nil || errors.Is(err, exec.ErrWaitDelay) {
		return ctx.Err()
	}
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); lines[len(lines)-1] != "" {
		return errors.New(strings.TrimSpace(lines[len(lines)-1]))
	}
	return err
}

// unpack writes the scripts to a new folder. Tests, compiled files and this
// program's own are left out.
func unpack(scripts fs.FS, dir string) error {
	return fs.WalkDir(scripts, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && base == "__pycache__":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, filepath.FromSlash(name)), 0o700)
		case strings.HasSuffix(base, ".go"), strings.HasPrefix(base, "test_"):
			return nil
		}
		data, err := fs.ReadFile(scripts, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), data, 0o600)
	})
}

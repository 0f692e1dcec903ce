package convert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// environment returns the interpreter of the environment that has the pinned
// packages, which it makes when there is none. An environment gets its name when
// it is whole: one whose making was interrupted is never used.
func (o Options) environment(ctx context.Context) (python string, err error) {
	list, err := fs.ReadFile(o.Scripts, requirements)
	if err != nil {
		return "", fmt.Errorf("this binary was built without the conversion scripts: %w", err)
	}
	sum := sha256.Sum256(list)
	home := filepath.Join(o.Cache, "python-"+hex.EncodeToString(sum[:8]))
	python = filepath.Join(home, "bin", "python")
	if _, err := os.Stat(python); err == nil {
		return python, nil
	}
	base, err := exec.LookPath(o.Python)
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNoPython, err)
	}
	if err := os.MkdirAll(o.Cache, 0o750); err != nil {
		return "", fmt.Errorf("make the cache folder: %w", err)
	}
	work, err := os.MkdirTemp(o.Cache, ".making-")
	if err != nil {
		return "", fmt.Errorf("write to the cache folder: %w", err)
	}
	defer os.RemoveAll(work) //nolint:errcheck // temporary
	if err := o.install(ctx, base, work, list); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(work, "env"), home); err != nil {
		if _, there := os.Stat(python); there != nil { // else another process was first
			return "", fmt.Errorf("keep the Python environment: %w", err)
		}
	}
	return python, nil
}

func (o Options) install(ctx context.Context, base, work string, list []byte) error {
	_, _ = fmt.Fprintf(o.Log, "making a Python environment for conversions in %s, once; this takes minutes\n", o.Cache)
	if err := os.WriteFile(filepath.Join(work, requirements), list, 0o600); err != nil {
		return err
	}
	if err := command(ctx, work, base, "-m", "venv", "env"); err != nil {
		return fmt.Errorf("%s can't make an environment (%w): install its venv module (Debian and Ubuntu: apt-get install python3-venv)", base, err)
	}
	if err := command(ctx, work, filepath.Join("env", "bin", "python"), "-m", "pip", "install", "--quiet", "-r", requirements); err != nil {
		return fmt.Errorf("the Python packages of the conversion could not be installed: %w", err)
	}
	return nil
}

package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Wheel is a package of Python as a package index has it.
type Wheel struct {
	Name, Version string
	SHA256        string // lower-case hex
}

// Pip has the pip of an interpreter download the wheel, and nothing that it depends on, into a folder, from the index that
// pip is set to; pip compares the checksum. It returns the file's path. The error is the first one that pip tells.
func Pip(ctx context.Context, python string, w Wheel, folder string) (string, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", fmt.Errorf("make the download folder: %w", err)
	}
	list, pinned := filepath.Join(folder, "requirements.txt"), w.Name+"=="+w.Version
	if err := os.WriteFile(list, []byte(pinned+" --hash=sha256:"+w.SHA256+"\n"), 0o600); err != nil {
		return "", err
	}
	arguments := []string{
		"-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "2", "--no-deps",
		"--only-binary=:all:", "--require-hashes", "--ignore-requires-python", "--requirement", list, "--dest", folder,
	}
	cmd := exec.CommandContext(ctx, python, arguments...) //nolint:gosec // G204: the operator's own interpreter
	cmd.Env = append(os.Environ(), "PIP_REQUIRE_VIRTUALENV=0")
	said, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fmt.Errorf("pip could not download %s (no network, or not the file that is pinned?): %s", pinned, reason(said, err))
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err == nil && len(found) != 1 {
		err = errors.New("pip left no wheel of " + pinned + " in " + folder)
	}
	if err != nil {
		return "", err
	}
	return found[0], nil
}

// reason is the first error among what pip said, else its last line, else how it ended.
func reason(said []byte, err error) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "ERROR:") {
			return line
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

package models

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestInstallLetsTheServiceRead: what root installed was for root alone, so that the
// service, which runs as somebody else, could not use it.
func TestInstallLetsTheServiceRead(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	root, user := os.Getuid() == 0, 12345
	if root {
		if err := os.Chown(data, user, user); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(data, "models")
	if _, err := candidate(t, "first").Install(dir, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := candidate(t, "second").Install(dir, false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"": 0o750, "first": 0o700, "second": 0o750, "first/card.json": 0o600, "second/card.json": 0o640, "second/model.onnx": 0o640,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("models/%s has mode %o, want %o", name, got, want)
		}
		if of := info.Sys().(*syscall.Stat_t); root && (int(of.Uid) != user || int(of.Gid) != user) {
			t.Errorf("models/%s is %d:%d's, want %d:%d", name, of.Uid, of.Gid, user, user)
		}
	}
}

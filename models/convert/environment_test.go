package convert

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// simple is options with an interpreter that is a script, python3.1, and a link to it:
// it makes environments at once. The folder of both is returned.
func simple(t *testing.T, script string) (opts Options, dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python3.1"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	point(t, filepath.Join(dir, "python3"), "python3.1")
	return Options{Scripts: scripts(), Cache: filepath.Join(dir, "cache"), Python: filepath.Join(dir, "python3"), Log: &strings.Builder{}}, dir
}

// atOnce is a script that makes an environment whose interpreter is the script's.
const atOnce = `[ "$2" != venv ] || { mkdir -p env/bin && ln -s "$0" env/bin/python; }` + "\n"

// point makes name a link to target.
func point(t *testing.T, name, target string) {
	t.Helper()
	if err := os.RemoveAll(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// TestEnvironmentIsMadeAgain: where the interpreter of the kept environment had gone, as
// with an upgrade of the system, each conversion installed all packages, and then failed
// as the old environment was in the way.
func TestEnvironmentIsMadeAgain(t *testing.T) {
	t.Parallel()
	opts, _ := simple(t, atOnce)
	for range 2 {
		python, err := opts.environment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(python); err != nil {
			t.Error(err)
		}
		point(t, python, "/nonexistent/python3")
	}
}

// TestCheck: that there was no Python, one that is too old, or none with its venv module, was told once all had been
// downloaded. A kept environment is enough.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, want string }{
		"sound":   {"exit 0", ""},
		"old":     {"echo it is Python 3.9 >&2; exit 1", "(it is Python 3.9): install Python 3.11 or later"},
		"no venv": {"echo \"No module named 'ensurepip'\" >&2; exit 1", "python3-venv"},
	} {
		opts, _ := simple(t, c.script+"\n")
		if err := Check(t.Context(), opts); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if _, err := os.Stat(opts.Cache); err == nil {
			t.Errorf("%s: something was made", name)
		}
	}
	opts, dir := simple(t, atOnce)
	if _, err := opts.environment(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, python := range []string{filepath.Join(dir, "python3"), "/nonexistent/python3"} {
		opts.Python = python
		if err := Check(t.Context(), opts); err != nil {
			t.Errorf("%s beside a kept environment: %v", python, err)
		}
	}
	opts.Cache = t.TempDir()
	if err := Check(t.Context(), opts); !errors.Is(err, ErrNoPython) {
		t.Errorf("%v, want ErrNoPython", err)
	}
}

// TestCheckOfARealPython: what it is asked is Python.
func TestCheckOfARealPython(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Cache = t.TempDir()
	if err := Check(t.Context(), opts); err != nil {
		t.Error(err)
	}
}

// TestWhatWasAbandonedIsRemoved: a process that was killed while it made an environment left up to
// 6 GB, which nothing removed. What another makes now stays.
func TestWhatWasAbandonedIsRemoved(t *testing.T) {
	t.Parallel()
	opts, _ := simple(t, atOnce)
	if _, err := opts.environment(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, another := filepath.Join(opts.Cache, ".making-1"), filepath.Join(opts.Cache, ".making-2")
	for _, dir := range []string{left, another} {
		if err := os.MkdirAll(filepath.Join(dir, "env", "lib"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	yesterday := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(left, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if _, err := opts.environment(t.Context()); err != nil { // which is there
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was abandoned is left")
	}
	if _, err := os.Stat(another); err != nil {
		t.Error(err)
	}
}

// TestEnvironmentTellsItsSize: a first pull filled 6 GB of the cache folder, which neither
// the program nor a document said before.
func TestEnvironmentTellsItsSize(t *testing.T) {
	t.Parallel()
	opts, _ := simple(t, atOnce)
	said := &strings.Builder{}
	opts.Log = said
	if _, err := opts.environment(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "6 GB") || !strings.Contains(said.String(), opts.Cache) {
		t.Errorf("said %q", said)
	}
}

// TestEnvironmentIsOfItsInterpreter: an environment of python3.1 has no packages for
// python3.2, though its link python3 still works; without any python3 it is used.
func TestEnvironmentIsOfItsInterpreter(t *testing.T) {
	t.Parallel()
	opts, dir := simple(t, atOnce)
	older, err := opts.environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(dir, "python3.1"), filepath.Join(dir, "python3.2")); err != nil {
		t.Fatal(err)
	}
	point(t, opts.Python, "python3.2")
	newer, err := opts.environment(t.Context())
	if err != nil || newer == older {
		t.Errorf("%s, %v: want another than that of python3.1", newer, err)
	}
	opts.Python = "there is none any more"
	if kept, err := opts.environment(t.Context()); err != nil || kept != older && kept != newer {
		t.Errorf("%s, %v: want one of %s and %s", kept, err, older, newer)
	}
}

// TestInterruptedAtOnce: who interrupted a conversion waited for what the interpreter had
// started, such as a compiler, and read that the venv module was to be installed.
func TestInterruptedAtOnce(t *testing.T) {
	t.Parallel()
	opts, dir := simple(t, "sleep 3600 & echo $! >\"$0.child\"; wait\n") // longer than a test may take
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	child := make(chan int, 1)
	go func() {
		defer cancel()
		for pid := 0; ctx.Err() == nil; <-time.After(time.Millisecond) {
			said, _ := filepath.Glob(filepath.Join(dir, "*.child"))
			for _, name := range said {
				if text, _ := os.ReadFile(name); strings.HasSuffix(string(text), "\n") {
					_, _ = fmt.Sscan(string(text), &pid)
					child <- pid
					return
				}
			}
		}
	}()
	if _, err := opts.environment(ctx); err != context.Canceled { //nolint:errorlint // and nothing around it
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if err := syscall.Kill(<-child, syscall.SIGKILL); err != nil {
		t.Error("what it had started was waited for:", err)
	}
}

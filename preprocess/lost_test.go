package preprocess_test

import (
	"bufio"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// kills ends, as the kernel does when memory runs out, every child that says by the pipe
// beside the mark that it is at work.
func kills(t *testing.T, mark string) {
	t.Helper()
	if err := unix.Mkfifo(mark+pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := os.OpenFile(mark+pipe, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { _ = said.Close(); <-ended })
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			if pid, err := strconv.Atoi(lines.Text()); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}()
}

// TestAChildKilledForMemoryIsNotTheFilesFault: where a machine or a container had run
// out of memory, the kernel killed decoders that had taken little of it. A file that lost
// two of them so was refused for good as one that can't be decoded safely, and nobody
// was told why. What crashes a child and then has one killed isn't judged by that either:
// it is when it is tried again, and a file gets two children at a time whatever they end of.
func TestAChildKilledForMemoryIsNotTheFilesFault(t *testing.T) {
	t.Parallel()
	killed, crash := preprocess.LostKilled, preprocess.LostCrash
	for mode, losses := range map[string][]preprocess.Loss{
		"awaits":            {killed, killed},
		"awaits-then-crash": {killed, crash},
		"crash-then-awaits": {crash, killed},
		"awaits-then-well":  {killed},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var log lines
			seen, mark := &observed{}, filepath.Join(t.TempDir(), "mark")
			kills(t, mark)
			opts := poolOptions(t, mode)
			opts.Children, opts.Observer = 1, seen
			opts.Env = append(opts.Env, markVariable+"="+mark)
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			_, err := decodeBytes(t, newPool(t, opts), tinyPNG(t), "")
			well := mode == "awaits-then-well"
			if e := new(preprocess.Error); errors.As(err, &e) || (err == nil) != well {
				t.Fatalf("got %v", err)
			}
			const probably = "has probably run out of it"
			if !well && !strings.Contains(err.Error(), probably) {
				t.Errorf("got %v, want %q in it", err, probably)
			}
			_, got := seen.seen()
			if !slices.Equal(got, losses) {
				t.Errorf("children lost to %v, want %v", got, losses)
			}
			if told := log.count(probably); told != len(losses)-strings.Count(mode, "crash") {
				t.Errorf("the operator was told %d times", told)
			}
		})
	}
}

package preprocess_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// A child that had served enough files ended before another was started, which takes
// a quarter of a second. As all children serve equally many, nobody was served
// meanwhile: of a hundred small pictures a second, one in a hundred took half a second.
func TestAChildServesUntilItIsRelieved(t *testing.T) {
	t.Parallel()
	opts := poolOptions(t, "relieved")
	opts.Children, opts.Recycle = 1, 2
	mark := filepath.Join(t.TempDir(), "mark")
	if err := unix.Mkfifo(mark+pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	opts.Env = append(opts.Env, markVariable+"="+mark)
	pool := newPool(t, opts)
	data := tinyPNG(t)
	for range 5 * opts.Recycle {
		if _, err := decodeBytes(t, pool, data, ""); err != nil {
			t.Fatal("while no other child has started:", err)
		}
	}
	open, err := os.OpenFile(mark+pipe, os.O_RDWR, 0) // the others start now
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = open.Close() }()
	for { // until the other one has taken over, which the test's time limit bounds
		if _, err := decodeBytes(t, pool, data, ""); err != nil {
			break
		}
	}
}

// TestAChildServesOnWithoutRelief: a child that had served as many files as it may
// was given up although no other one started, and there was none left.
func TestAChildServesOnWithoutRelief(t *testing.T) {
	t.Parallel()
	var log lines
	opts := poolOptions(t, "unrelieved")
	opts.Children, opts.Recycle = 1, 2
	opts.Env = append(opts.Env, markVariable+"="+filepath.Join(t.TempDir(), "mark"))
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	pool := newPool(t, opts)
	for log.count("serves on") < 2 { // which the test's time limit bounds
		if _, err := decodeBytes(t, pool, tinyPNG(t), ""); err != nil {
			t.Fatal("after a relief that did not start:", err)
		}
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(part string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return strings.Count(l.text.String(), part)
}

// residents are how many bytes of memory each child of this process has.
func residents(t *testing.T) []int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, name := range names {
		status, _ := os.ReadFile(name) // or it has ended
		if !bytes.Contains(status, fmt.Appendf(nil, "\nPPid:\t%d\n", os.Getpid())) {
			continue
		}
		_, rss, _ := strings.Cut(string(status), "\nVmRSS:")
		kilobytes, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rss, "kB", 2)[0]))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, kilobytes<<10)
	}
	return all
}

// TestChildrenThatWaitAreSmall runs before the parallel tests: a child kept the memory of
// the largest picture that it had decoded, 3.3 GB after a HEIC file of 28 kB, and a machine
// with a child for each core ran out of it.
func TestChildrenThatWaitAreSmall(t *testing.T) { //nolint:paralleltest // it looks at all children
	if raceDetector {
		t.Skip("the race detector keeps memory of its own for what was in use")
	}
	large := image.NewPaletted(image.Rect(0, 0, 8000, 7900), color.Palette{color.Black, color.White})
	var file bytes.Buffer
	if err := gif.Encode(&file, large, nil); err != nil {
		t.Fatal(err)
	}
	opts := poolOptions(t, "decode")
	opts.Children = 1
	pool := newPool(t, opts)
	for _, data := range [][]byte{file.Bytes(), tinyPNG(t), tinyPNG(t)} { // what comes after the first follows what it leaves
		if _, err := decodeBytes(t, pool, data, ""); err != nil {
			t.Fatal(err)
		}
	}
	children := residents(t)
	if len(children) != 2 || slices.Max(children) > 300<<20 {
		t.Errorf("children have %d bytes", children)
	}
}

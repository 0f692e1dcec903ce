package spool

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func setup(t *testing.T, capacity int64) *Spool {
	t.Helper()
	s, err := New(Options{Dir: filepath.Join(t.TempDir(), "spool"), Capacity: capacity})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFileIsHashedAndReadBack(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{false, true} {
		s := setup(t, 0)
		s.named.Store(named)
		f, err := s.Create()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := f.Write([]byte("abc")); err != nil {
				t.Fatal(err)
			}
		}
		// sha256 of "abcabcabc", from coreutils' sha256sum.
		if got := f.SHA256(); got != "76b99ab4be8521d78b19bcff7d1078aabeb477bd134f404094c92cd39f051c3e" {
			t.Errorf("named %v: SHA256 = %s", named, got)
		}
		r, err := f.Rewind()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "abcabcabc" {
			t.Errorf("named %v: read %q, %v", named, got, err)
		}
		if names := list(t, s.dir); len(names) != 0 {
			t.Errorf("named %v: an open upload has a name: %v", named, names)
		}
		if files, size := s.Usage(); files != 1 || size != 9 {
			t.Errorf("named %v: usage %d files, %d bytes", named, files, size)
		}
		_ = f.Close()
		if err := f.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		if files, size := s.Usage(); files != 0 || size != 0 {
			t.Errorf("named %v: usage after Close %d files, %d bytes", named, files, size)
		}
	}
}

func TestCapacityIsKeptAndRecovers(t *testing.T) {
	t.Parallel()
	s := setup(t, 10)
	a, _ := s.Create()
	b, _ := s.Create()
	defer b.Close()
	if _, err := a.Write(bytes.Repeat([]byte("x"), 8)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte("yyy")); !errors.Is(err, ErrFull) {
		t.Fatalf("write beyond the capacity: %v", err)
	}
	_ = a.Close()
	if _, err := b.Write([]byte("yyy")); err != nil {
		t.Fatalf("write after room was made: %v", err)
	}
}

// An upload that found no room booked what it had asked for while it looked again
// for some, and another one that fitted was refused, too.
func TestRefusedBytesAreNotBooked(t *testing.T) {
	t.Parallel()
	s := setup(t, 10)
	large, small := create(t, s), create(t, s)
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for {
			select {
			case <-stop:
				stopped <- err
				return
			default:
				_, err = large.Write(make([]byte, 11))
			}
		}
	}()
	refused := 0
	for range 2000 {
		if _, err := small.Write([]byte("x")); err != nil {
			refused++
		}
		must(t, small.Close())
		small = create(t, s)
	}
	close(stop)
	if err := <-stopped; refused > 0 || !errors.Is(err, ErrUsedUp) || !errors.Is(err, ErrFull) {
		t.Errorf("%d uploads that fit were refused beside one that was with %v", refused, err)
	}
}

// create opens a file that is closed with the test.
func create(t *testing.T, s *Spool) *File {
	t.Helper()
	f, err := s.Create()
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// TestNewRemovesWhatAKilledProcessLeft: the path of the folder was taken for a
// pattern, so that one with a bracket in it was refused, or nothing in it removed.
func TestNewRemovesWhatAKilledProcessLeft(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"spool", "data [1]", "data [1"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, prefix+"123"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := New(Options{Dir: dir}); err != nil {
			t.Error(err)
		}
		if names := list(t, dir); len(names) != 1 || names[0] != "other" { // it is not the service's to remove
			t.Errorf("left: %v", names)
		}
	}
}

// Where files have names for an instant, a process that started and one that took an
// upload could both find the name gone, and failed.
func TestNewBesideAnotherProcess(t *testing.T) {
	t.Parallel()
	s := setup(t, 0)
	s.named.Store(true)
	started := make(chan error, 1)
	go func() {
		var err error
		for range 2000 {
			if _, failed := New(Options{Dir: s.dir}); failed != nil {
				err = failed
			}
		}
		started <- err
	}()
	for {
		select {
		case err := <-started:
			must(t, err)
			return
		default:
		}
		f, err := s.Create()
		if err != nil {
			t.Error(err)
			must(t, <-started)
			return
		}
		must(t, f.Close())
	}
}

func TestDiskFullIsErrFull(t *testing.T) {
	t.Parallel()
	for _, errno := range []unix.Errno{unix.ENOSPC, unix.EDQUOT} {
		err := full(&os.PathError{Op: "write", Path: "x", Err: errno})
		if !errors.Is(err, ErrFull) || errors.Is(err, ErrUsedUp) || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	// A descriptor that really answers ENOSPC, and the room given back.
	dev, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	s := setup(t, 0)
	f := newFile(s)
	f.file = dev
	s.files.Add(1)
	if _, err := f.Write([]byte("abc")); !errors.Is(err, ErrFull) {
		t.Errorf("write to a full disk: %v", err)
	}
	_ = f.Close()
	if files, size := s.Usage(); files != 0 || size != 0 {
		t.Errorf("usage after Close: %d files, %d bytes", files, size)
	}
}

// The memory of a small upload is booked as it is taken, in blocks, and given back,
// whatever is done with it. Held in buffers of other uploads' sizes, twenty kilobytes
// could take a megabyte.
func TestMemoryIsBookedAsItIsTaken(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Dir: filepath.Join(t.TempDir(), "spool"), Memory: 2 << 20})
	must(t, err)
	for size, booked := range map[int]int64{0: 0, 1: blockBytes, blockBytes: blockBytes, blockBytes + 1: 2 * blockBytes, small: small} {
		f, err := s.Create()
		must(t, err)
		_, err = f.Write(make([]byte, size))
		must(t, err)
		taken := int64(len(f.held.blocks)) * blockBytes
		if got := s.inMemory.Load(); got != booked || got != taken {
			t.Errorf("%d bytes: %d booked and %d taken, want %d", size, got, taken, booked)
		}
		must(t, f.Close())
		if _, err := f.Write([]byte("abc")); !errors.Is(err, os.ErrClosed) {
			t.Errorf("write after Close: %v", err)
		}
		if files, bytes := s.Usage(); files != 0 || bytes != 0 || s.inMemory.Load() != 0 {
			t.Errorf("after Close: %d files of %d bytes, %d in memory", files, bytes, s.inMemory.Load())
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"no folder":         {},
		"negative capacity": {Dir: "x", Capacity: -1},
		"kept nowhere":      {Dir: "x", Keep: true},
	} {
		if _, err := New(opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Operators who have to show what was judged keep uploads; everybody else must
// find nothing of them.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, keep := range []bool{false, true} {
		s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: filepath.Join(dir, "uploads"), Keep: keep, Names: "det_"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Create()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write([]byte("abc")); err != nil {
			t.Fatal(err)
		}
		if err := f.Keep("det_1"); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "uploads", "det_1")
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "abc" {
		t.Errorf("kept %q, %v", got, err)
	}
	if names := list(t, filepath.Join(dir, "spool")); len(names) != 0 {
		t.Errorf("the spool holds %v", names)
	}
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Kept: filepath.Join(dir, "uploads"), Keep: true, Names: "det_"})
	if err != nil {
		t.Fatal(err)
	}
	for i, age := range []time.Duration{time.Hour, 3 * time.Hour} {
		written := time.Now().Add(-age)
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Purge(time.Now().Add(-2 * time.Hour)); n != i || err != nil {
			t.Errorf("%v after it was kept: %d files deleted, %v", age, n, err)
		}
	}
}

// What is parked where uploads would be kept is not taken for kept, nor are a folder
// and somebody's own file.
func TestPurgeLeavesWhatIsNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept := filepath.Join(dir, "uploads")
	must(t, os.MkdirAll(filepath.Join(kept, "det_x"), 0o700))
	must(t, os.WriteFile(filepath.Join(kept, "IMG_0001.jpg"), nil, 0o600))
	opts := Options{Dir: filepath.Join(dir, "spool"), Kept: kept, Names: "det_"}
	s, err := New(opts)
	must(t, err)
	if n, err := s.Purge(time.Now().Add(time.Second)); n != 0 || err != nil {
		t.Errorf("%d others deleted, %v", n, err)
	}
	opts.Park = filepath.Join(dir, "spool", "..", "uploads")
	s, err = New(opts)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(kept, "det_1"), nil, 0o600))
	if n, err := s.Purge(time.Now().Add(time.Second)); n != 0 || err != nil {
		t.Errorf("%d parked files deleted, %v", n, err)
	}
	opts.Keep = true
	if _, err := New(opts); err == nil || !strings.Contains(err.Error(), opts.Park) {
		t.Errorf("got %v", err)
	}
	opts.Keep, opts.Park = false, filepath.Join(dir, "jobs") // the mark of earlier is left
	s, err = New(opts)
	must(t, err)
	if n, err := s.Purge(time.Now().Add(time.Second)); n != 1 || err != nil {
		t.Errorf("%d deleted, %v", n, err)
	}
}

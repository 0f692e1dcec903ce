package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// A parked file is found by its name, by a later process too, until it is
// discarded; its room is in use all the while.
func TestPark(t *testing.T) {
	t.Parallel()
	for name, named := range map[string]bool{"nameless files": false, "a file system without them": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			opts := Options{Dir: filepath.Join(dir, "spool"), Park: filepath.Join(dir, "jobs"), Capacity: 10}
			s, err := New(opts)
			must(t, err)
			s.named.Store(named)
			f, err := s.Create()
			must(t, err)
			_, err = f.Write([]byte("abcdef"))
			must(t, err)
			sum := f.SHA256()
			must(t, f.Park("det_1"))
			if left, err := f.Rewind(); err != nil || read(t, left) != "abcdef" {
				t.Errorf("a parked file can't be read on: %v", err)
			}
			must(t, f.Close())
			usage(t, s, 1, 6)

			s, err = New(opts) // the next process
			must(t, err)
			usage(t, s, 1, 6)
			names, err := s.Parked(t.Context())
			if err != nil || len(names) != 1 || names[0].Name != "det_1" || names[0].Age > time.Minute {
				t.Errorf("parked: %v, %v", names, err)
			}
			g, err := s.Open(t.Context(), "det_1", sum, 6)
			must(t, err)
			file, err := g.Rewind()
			must(t, err)
			if text := read(t, file); text != "abcdef" || g.Size() != 6 || g.SHA256() != sum {
				t.Errorf("opened %q of %d bytes, %s", text, g.Size(), g.SHA256())
			}
			h, err := s.Create()
			must(t, err)
			if _, err := h.Write([]byte("12345")); !errors.Is(err, ErrFull) {
				t.Errorf("what is parked takes no room: %v", err)
			}
			must(t, h.Close())
			must(t, g.Close())
			usage(t, s, 1, 6)
			must(t, s.Discard(t.Context(), "det_1"))
			must(t, s.Discard(t.Context(), "det_1"))
			usage(t, s, 0, 0)
			if _, err := s.Open(t.Context(), "det_1", sum, 6); !errors.Is(err, ErrLost) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a discarded file is still there: %v", err)
			}
		})
	}
}

// A name that would lead elsewhere is refused, and so is any name where nothing
// can be parked.
func TestParkRefuses(t *testing.T) {
	t.Parallel()
	s := parking(t, 0)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc/passwd"} {
		f, err := s.Create()
		must(t, err)
		if f.Park(name) == nil {
			t.Errorf("%q: parked", name)
		}
		if _, err := s.Open(t.Context(), name, "", 0); err == nil {
			t.Errorf("%q: opened", name)
		}
		if s.Discard(t.Context(), name) == nil {
			t.Errorf("%q: discarded", name)
		}
		must(t, f.Close())
	}
	usage(t, s, 0, 0)
	f, err := setup(t, 0).Create()
	must(t, err)
	if f.Park("x") == nil {
		t.Error("parked without a folder for it")
	}
	must(t, f.Close())
}

// A file that could not be parked leaves no part of itself, and gives its room
// back when it is closed.
func TestParkFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	park := filepath.Join(dir, "jobs")
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Park: park})
	must(t, err)
	f, err := s.Create()
	must(t, err)
	_, err = f.Write([]byte("abc"))
	must(t, err)
	if f.Park(strings.Repeat("x", 300)) == nil {
		t.Error("parked under a name that no file can have")
	}
	unread, err := os.Open(os.DevNull)
	must(t, err)
	must(t, unread.Close())
	half := newFile(s)
	half.small, half.file, half.size = true, unread, 3
	if half.Park("half") == nil {
		t.Error("parked what can't be read")
	}
	if _, err := os.Stat(filepath.Join(park, "half")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was copied of it: %v", err)
	}
	must(t, os.RemoveAll(park))
	if f.Park("x") == nil {
		t.Error("parked in a folder that is gone")
	}
	must(t, f.Close())
	usage(t, s, 0, 0)
}

// A file of another size than it was parked with is not taken for it.
func TestParkedFileIsCutOff(t *testing.T) {
	t.Parallel()
	s := parking(t, 0)
	f, err := s.Create()
	must(t, err)
	_, err = f.Write([]byte("abc"))
	must(t, err)
	must(t, f.Park("x"))
	must(t, f.Close())
	must(t, os.Truncate(filepath.Join(s.park, "x"), 2))
	if _, err := s.Open(t.Context(), "x", "", 3); !errors.Is(err, ErrDamaged) {
		t.Errorf("opened two bytes of three: %v", err)
	}
}

// Processes that share a folder of parked files see when the others make room.
// What one made for another was taken off its own use, below zero, so that its
// capacity was no bound any more.
func TestParkedByOneDiscardedByAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var processes [2]*Spool
	for i, name := range []string{"a", "b"} {
		var err error
		processes[i], err = New(Options{Dir: filepath.Join(dir, name), Park: filepath.Join(dir, "jobs"), Capacity: 4})
		must(t, err)
	}
	for range 3 {
		f, err := processes[0].Create()
		must(t, err)
		_, err = f.Write([]byte("abc"))
		must(t, err)
		must(t, f.Park("x"))
		must(t, f.Close())
		must(t, processes[1].Discard(t.Context(), "x"))
	}
	usage(t, processes[0], 1, 3) // until room is short
	usage(t, processes[1], 0, 0)
	f, err := processes[1].Create()
	must(t, err)
	if _, err := f.Write(make([]byte, 10)); !errors.Is(err, ErrFull) {
		t.Errorf("ten bytes where there is room for four: %v", err)
	}
	must(t, f.Close())
}

// Uploads that are parked at the same moment leave room, too: each saw what was parked before.
func TestWhatIsParkedTogetherLeavesRoom(t *testing.T) {
	t.Parallel()
	s := parking(t, 1000)
	var files [20]*File
	for i := range files {
		f, err := s.Create()
		must(t, err)
		_, err = f.Write(make([]byte, 50))
		must(t, err)
		files[i] = f
	}
	var group sync.WaitGroup
	for i, f := range files {
		group.Go(func() {
			defer func() { _ = f.Close() }()
			if err := f.Park(strconv.Itoa(i)); err != nil && !errors.Is(err, ErrUsedUp) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	must(t, s.recount()) // what was parked while it was counted may be booked twice until then
	if _, size := s.Usage(); size > 750 || size < 700 {
		t.Errorf("%d bytes are parked of 1000", size)
	}
	if n := s.parkingFiles.Load() + s.parkingBytes.Load(); n != 0 {
		t.Errorf("%d are still being parked", n)
	}
}

// With uploads in a folder of several machines, one whose clock was an hour ahead took those that were just
// being accepted for old, and removed them: their jobs failed. Their age is by the clock that dates them.
func TestParkedFilesAreAsOldAsTheirFolderSays(t *testing.T) {
	t.Parallel()
	s := parking(t, 0)
	f, err := s.Create()
	must(t, err)
	must(t, f.Park("x"))
	must(t, f.Close())
	age := func() time.Duration {
		list, err := s.Parked(t.Context())
		must(t, err)
		if len(list) != 1 {
			t.Fatalf("parked: %v", list)
		}
		return list[0].Age
	}
	if got := age(); got < 0 || got > time.Minute {
		t.Errorf("it is %v old", got)
	}
	behind := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(filepath.Join(s.park, "x"), behind, behind))
	if got := age().Round(time.Minute); got != 2*time.Hour {
		t.Errorf("it is %v old, want two hours", got)
	}
	s.clock = func() (time.Time, error) { now, err := s.now(); return now.Add(-2 * time.Hour), err } // as a server's
	if got := age(); got > time.Minute {
		t.Errorf("it is %v old by a server whose clock is two hours behind", got)
	}
}

// Films of two accounts' jobs, each within its share of the queue, filled the spool, and nobody's picture was
// taken in before they had been judged. A single one may fill it, as nothing else waits then.
func TestWhatIsParkedLeavesRoom(t *testing.T) {
	t.Parallel()
	s := parking(t, 100)
	park := func(name string, bytes int) error {
		f, err := s.Create()
		must(t, err)
		_, err = f.Write(make([]byte, bytes))
		must(t, err)
		defer func() { must(t, f.Close()) }()
		return f.Park(name)
	}
	for _, name := range []string{"a", "b", "c"} {
		must(t, park(name, 25))
	}
	if err := park("d", 1); !errors.Is(err, ErrUsedUp) {
		t.Errorf("a byte beyond three quarters: %v", err)
	}
	usage(t, s, 3, 75)
	arrives, err := s.Create()
	must(t, err)
	_, err = arrives.Write(make([]byte, 25))
	must(t, err)
	must(t, arrives.Close())
	for _, name := range []string{"a", "b", "c"} {
		must(t, s.Discard(t.Context(), name))
	}
	must(t, park("d", 100))
}

// parking is a spool that files can be parked in, with so much room; 0: without end.
func parking(t *testing.T, capacity int64) *Spool {
	t.Helper()
	dir := t.TempDir()
	s, err := New(Options{Dir: filepath.Join(dir, "spool"), Park: filepath.Join(dir, "jobs"), Capacity: capacity})
	must(t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func usage(t *testing.T, s *Spool, files, size int64) {
	t.Helper()
	if f, n := s.Usage(); f != files || n != size {
		t.Errorf("%d files with %d bytes, want %d with %d", f, n, files, size)
	}
}

func read(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := io.ReadAll(f)
	must(t, err)
	return string(text)
}

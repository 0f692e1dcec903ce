package decode

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// newTestArena is an arena of at most limit bytes over a memory file, closed
// with the test.
func newTestArena(t *testing.T, limit int64) *Arena {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "test")
	arena := NewArena(file, limit)
	t.Cleanup(func() {
		if err := arena.Close(); err != nil {
			t.Error(err)
		}
		_ = file.Close()
	})
	return arena
}

func TestArenaKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	arena := newTestArena(t, 1<<20)
	pix := []byte{44: 9}
	if err := arena.Frame(pix, 3, 5, 0); err != nil {
		t.Fatal(err)
	}
	samples := []int16{6: 5}
	offset, err := arena.Sound(len(samples))
	if err == nil {
		err = arena.Samples(samples, offset)
	}
	if err != nil {
		t.Fatal(err)
	}
	arena.Window(offset, len(samples), 1e9)
	pix[44], samples[6] = 7, 3
	var got [1]byte
	if _, err := arena.file.ReadAt(got[:], arena.Frames()[0].Offset+44); err != nil || got[0] != 9 {
		t.Fatalf("the last byte of the frame reads %d, %v", got[0], err)
	}
	if x := window(t, arena, 0)[6]; x != 5./fullScale {
		t.Fatalf("the last sample reads %v", x)
	}
	if w := arena.Windows()[0]; w.Offset != int64(os.Getpagesize()) || w.Samples != 7 || w.At != 1e9 {
		t.Fatalf("window at %+v", w)
	}
}

func TestArenaStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	arena := newTestArena(t, int64(os.Getpagesize())+1)
	if err := arena.Frame(make([]byte, 300), 10, 10, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := arena.Sound(1); err != preprocess.ErrOutputFull { //nolint:errorlint // the very value is promised
		t.Fatalf("the second page gives %v", err)
	}
	for _, side := range []int{0, -1, 1 << 17} {
		if err := arena.Frame(make([]byte, 3), side, 1, 0); err == nil {
			t.Fatalf("a width of %d passes", side)
		}
	}
}

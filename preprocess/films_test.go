package preprocess_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// atWork reads the pipe beside the mark by which children say that they are at work.
func atWork(t *testing.T, mark string) *bufio.Scanner {
	t.Helper()
	if err := unix.Mkfifo(mark+pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := os.OpenFile(mark+pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = said.Close() })
	return bufio.NewScanner(said)
}

// TestFilmsLeaveAChildToOthers: two films, of anybody, even of jobs, had both decoders of a machine with
// two cores, and until the end of one of them a picture waited, for 16 to 22 seconds, or was
// answered 500 by its deadline each time that it was sent.
func TestFilmsLeaveAChildToOthers(t *testing.T) {
	t.Parallel()
	for name, lengthy := range map[string][]byte{
		"films":  []byte("\x00\x00\x00\x18ftypisom"),
		"sounds": append([]byte("OggS"), make([]byte, 2<<20)...), // half an hour of speech
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			said := atWork(t, mark)
			opts := poolOptions(t, "awaits-but-pictures")
			opts.Env = append(opts.Env, markVariable+"="+mark)
			pool := newPool(t, opts)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for range 2 * opts.Children {
				f := file(t, lengthy)
				go func() { _, _ = pool.Decode(ctx, f, int64(len(lengthy)), "", nil) }()
			}
			for range opts.Children { // as many at a time as may be
				said.Scan()
			}
			patient, stop := context.WithTimeout(t.Context(), 2*time.Minute)
			defer stop()
			data := tinyPNG(t)
			for range 3 {
				media, err := pool.Decode(patient, file(t, data), int64(len(data)), "", nil)
				if err != nil {
					t.Fatal("a picture beside them:", err)
				}
				media.Close()
			}
		})
	}
}

package preprocess

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// failingDisk is a file of which nothing can be read from a place on.
type failingDisk struct {
	io.ReaderAt
	from int64
	err  error
}

func (f failingDisk) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, at)
}

// TestReadable: a file on a disk that failed was said to be damaged, since that is all that
// a decoder knows.
func TestReadable(t *testing.T) {
	t.Parallel()
	whole := bytes.NewReader(make([]byte, 1<<20))
	if err := readable(whole, whole.Size()); err != nil {
		t.Error(err)
	}
	failed := errors.New("input/output error")
	if err := readable(failingDisk{whole, 1 << 19, failed}, whole.Size()); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
}

// TestTaggedWAV: a WAV file behind an ID3 tag was taken for an MP3 and refused as damaged,
// however long the tag, which may hold a cover.
func TestTaggedWAV(t *testing.T) {
	t.Parallel()
	for _, length := range []int{0, 100, SniffBytes - 15, SniffBytes, 200_000} {
		tag := append([]byte("ID3\x04\x00\x00"), byte(length>>21), byte(length>>14&0x7f), byte(length>>7&0x7f), byte(length&0x7f))
		file := append(append(tag, make([]byte, length)...), "RIFF\x24\x00\x00\x00WAVEfmt "...)
		if format, err := formatOf(bytes.NewReader(file), int64(len(file))); format != WAV || err != nil {
			t.Errorf("behind %d bytes: %q, %v", length, format, err)
		}
	}
}

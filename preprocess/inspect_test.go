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

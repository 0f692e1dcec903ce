package preprocess

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// TestPicturesOfAFilmsBrand: an AVIF or HEIC file whose major brand is a film's, as some programs write it, was
// taken for a film, and refused since it has no tracks. Browsers show it. What has tracks of a film is one.
func TestPicturesOfAFilmsBrand(t *testing.T) {
	t.Parallel()
	for name, picture := range map[string]Format{"orientation1.avif": AVIF, "orientation1.heic": HEIC} {
		data, err := os.ReadFile(filepath.Join("decode", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for major, film := range map[string]Format{"isom": MP4, "mp41": MP4, "avc1": MP4, "qt  ": MOV, "M4A ": M4A} {
			copy(data[8:], major)
			for handler, want := range map[string]Format{"": picture, "pict": picture, "vide": film, "soun": film} {
				file := data
				if handler != "" {
					file = slices.Concat(data, []byte("\x00\x00\x00\x1cmoov\x00\x00\x00\x14hdlr\x00\x00\x00\x00\x00\x00\x00\x00"), []byte(handler))
				}
				if format, err := formatOf(bytes.NewReader(file), int64(len(file))); format != want || err != nil {
					t.Errorf("%s as %q with a track of %q: %q, %v, want %q", name, major, handler, format, err, want)
				}
			}
		}
	}
}

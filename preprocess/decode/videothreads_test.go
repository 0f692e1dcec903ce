//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// movingFilm is a film of two seconds, with something new in every picture.
func movingFilm(t testing.TB, name string, args ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=640x360:r=25:d=2", "-pix_fmt", "yuv420p"}, args, []string{path})...)
	return read(t, path)
}

// scratched is a film with spots of noise in its pictures, each of as many bytes.
func scratched(film []byte, spots, length int) []byte {
	film = bytes.Clone(film)
	for i := range spots {
		copy(film[len(film)*(i+1)/(spots+2):], noise(length))
	}
	return film
}

// TestDamagedFilmHasOneAnswer: the decoder's threads raced with each other where it made up
// what it could not decode, so that a damaged film was judged differently each time.
func TestDamagedFilmHasOneAnswer(t *testing.T) {
	t.Parallel()
	codecs := videoCodecsTested()
	for _, codec := range []string{"H.264", "H.265", "MPEG-4"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			film := movingFilm(t, "x.mp4", codecs[codec]...)
			wantOneAnswer(t, scratched(film, 6, 1))
			wantOneAnswer(t, scratched(film, 30, 4))
		})
	}
}

// wantOneAnswer decodes a film several times.
func wantOneAnswer(t *testing.T, film []byte) {
	t.Helper()
	var first [][]byte
	for range 8 {
		d, err := decodeBytes(t, film, preprocess.MP4, preprocess.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		var pictures [][]byte
		for i := range d.arena.Frames() {
			pictures = append(pictures, d.pixels(t, i).pix)
		}
		if first == nil {
			first = pictures
		}
		if !slices.EqualFunc(first, pictures, bytes.Equal) {
			t.Fatal("other pictures than the first time")
		}
	}
}

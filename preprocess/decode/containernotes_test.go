//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestNotes: a film whose sound is in a foreign codec, too short or damaged was judged
// by its pictures alone, of several tracks one was, and what could not be decoded was
// passed over: nobody was told.
func TestNotes(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	film := func(name string, args ...string) []byte {
		path := filepath.Join(t.TempDir(), name)
		ffmpeg(t, slices.Concat([]string{"-i", master, "-c:v", "mjpeg", "-pix_fmt", "yuvj420p"}, args, []string{path})...)
		return read(t, path)
	}
	avi := film("x.avi", "-c:a", "libmp3lame")
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
		want   []preprocess.Note
	}{
		"nothing":        {avi, preprocess.AVI, nil},
		"no sound":       {film("x.mkv", "-an"), preprocess.Matroska, nil},
		"foreign":        {film("x.mkv", "-c:a", "wavpack"), preprocess.Matroska, []preprocess.Note{preprocess.SoundUnsupported}},
		"foreign, two":   {film("x.mkv", "-map", "0", "-map", "0:a", "-c:a", "wavpack"), preprocess.Matroska, []preprocess.Note{preprocess.SoundUnsupported}},
		"short":          {film("x.mkv", "-c:a", "pcm_s16le", "-af", "atrim=end=0.05"), preprocess.Matroska, []preprocess.Note{preprocess.SoundTooShort}},
		"damaged":        {spoiledChunks(avi, "01wb", 0, 999), preprocess.AVI, []preprocess.Note{preprocess.SoundDamaged, preprocess.Incomplete}},
		"partly damaged": {spoiledChunks(film("x.avi", "-c:a", "aac"), "01wb", 40, 50), preprocess.AVI, []preprocess.Note{preprocess.Incomplete}},
		"other sound":    {film("x.mkv", "-map", "0", "-map", "0:a", "-c:a", "aac"), preprocess.Matroska, []preprocess.Note{preprocess.OtherSound}},
		"other, damaged": {spoiledChunks(film("x.avi", "-map", "0", "-map", "0:a", "-c:a", "aac", "-filter:a:0", "volume=0"), "02wb", 40, 50), preprocess.AVI, []preprocess.Note{preprocess.OtherSound, preprocess.Incomplete}},
		"other pictures": {film("x.mkv", "-map", "0", "-map", "0:v", "-c:a", "aac"), preprocess.Matroska, []preprocess.Note{preprocess.OtherPictures}},
		"sound alone":    {film("x.mka", "-vn", "-map", "0:a", "-map", "0:a", "-c:a", "aac"), preprocess.Matroska, []preprocess.Note{preprocess.OtherSound}},
	} {
		d, err := decodeBytes(t, tc.file, tc.format, preprocess.DefaultLimits())
		if err != nil || !slices.Equal(d.Notes, tc.want) {
			t.Errorf("%s: notes %q, want %q, %v", name, d.Notes, tc.want, err)
		}
	}
}

// spoiledChunks overwrites the chunks of a name, from number from to number to, of an
// AVI file.
func spoiledChunks(file []byte, name string, from, to int) []byte {
	file = bytes.Clone(file)
	for i, n := bytes.Index(file, []byte("movi"))+4, 0; i+8 < len(file); {
		size := int(binary.LittleEndian.Uint32(file[i+4:]))
		if string(file[i:i+4]) == name {
			if n >= from && n <= to {
				clear(file[i+8 : i+8+size])
			}
			n++
		}
		i += 8 + size + size%2
	}
	return file
}

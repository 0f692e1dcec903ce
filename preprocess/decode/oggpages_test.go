//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestTornPagesAreNoted: of OGG files in which a page was damaged, a second of sound was left
// out and the rest put together, and nobody was told.
func TestTornPagesAreNoted(t *testing.T) {
	t.Parallel()
	changed := func(file []byte, at int) []byte {
		file = bytes.Clone(file)
		file[at] ^= 0x55
		return file
	}
	for codec, args := range map[string][]string{
		"libvorbis": {"-f", "lavfi", "-i", "anoisesrc=d=4:a=0.3:r=48000:seed=7"},
		"libopus":   {"-f", "lavfi", "-i", "anoisesrc=d=4:a=0.3:r=48000:seed=7"},
		"flac":      {"-f", "lavfi", "-i", "anoisesrc=d=4:a=0.3:r=48000:seed=7"},
		"libtheora": {"-f", "lavfi", "-i", "testsrc2=s=320x240:r=10:d=4"},
	} {
		path := filepath.Join(t.TempDir(), "x.ogg")
		ffmpeg(t, slices.Concat(args, []string{"-c", codec, path})...)
		whole := read(t, path)
		half := len(whole)/2 + bytes.Index(whole[len(whole)/2:], []byte("OggS")) // where a page begins
		last := bytes.LastIndex(whole, []byte("OggS"))
		for name, tc := range map[string]struct {
			file []byte
			torn bool
		}{
			"whole":             {whole, false},
			"behind a tag":      {slices.Concat([]byte("ID3\x03\x00\x00\x00\x00\x08\x00"), make([]byte, 1<<10), whole), false},
			"before a tag":      {slices.Concat(whole, []byte("TAG"), make([]byte, 125)), false},
			"two":               {slices.Concat(whole, whole), false},
			"a wrong sum":       {changed(whole, half+oggSum), true},
			"a wrong byte":      {changed(whole, half+300), true},
			"half of a page":    {whole[:last+(len(whole)-last)/2], true},
			"half of a header":  {whole[:last+oggHead/2], true},
			"without a page":    {whole[:last], false},
			"a wrong last byte": {changed(whole, len(whole)-1), true},
		} {
			d, err := decodeBytes(t, tc.file, preprocess.OGG, preprocess.DefaultLimits())
			if noted := slices.Equal(d.Notes, []preprocess.Note{preprocess.Incomplete}); err != nil || noted != tc.torn || !noted && d.Notes != nil {
				t.Errorf("%s, %s: notes %q, %v", codec, name, d.Notes, err)
			}
		}
	}
}

// FuzzTornPages holds that it comes to an end.
func FuzzTornPages(f *testing.F) {
	f.Add([]byte("OggS\x00\x02"))
	f.Add(slices.Concat([]byte("OggS"), make([]byte, 22), []byte{1, 9}, make([]byte, 9)))
	f.Fuzz(func(_ *testing.T, data []byte) { tornPages(bytes.NewReader(data), int64(len(data))) })
}

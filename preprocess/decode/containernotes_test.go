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
		"short":          {film("x.mkv", "-c:a", "pcm_s16le", "-af", "atrim=end=0.45"), preprocess.Matroska, []preprocess.Note{preprocess.SoundTooShort}},
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

// TestPatchedPicturesAreNoted: of films in which the decoder had made up a part of what was
// judged, nobody was told. What it made up behind the pictures that are judged, or did not
// decode, is no concern of theirs.
func TestPatchedPicturesAreNoted(t *testing.T) {
	t.Parallel()
	incomplete := []preprocess.Note{preprocess.Incomplete}
	film := func(codec, group string) []byte {
		path := filepath.Join(t.TempDir(), "x.avi")
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=320x240:r=5:d=16", "-pix_fmt", "yuv420p", "-c:v", codec, "-g", group, "-bf", "0", path)
		return read(t, path)
	}
	for _, codec := range []string{"libx264", "mpeg4"} {
		whole, keys := film(codec, "80"), film(codec, "5")
		for name, tc := range map[string]struct {
			file []byte
			want []preprocess.Note
		}{
			"healthy":            {whole, nil},
			"before one":         {halved(whole, 1), incomplete},
			"behind the last":    {halved(whole, 78), nil},
			"healthy, key":       {keys, nil},
			"key":                {halved(keys, 25), incomplete},
			"between key frames": {halved(keys, 27), nil},
		} {
			d, err := decodeBytes(t, tc.file, preprocess.AVI, preprocess.DefaultLimits())
			if err != nil || !slices.Equal(d.Notes, tc.want) {
				t.Errorf("%s, %s: notes %q, want %q, %v", codec, name, d.Notes, tc.want, err)
			}
		}
	}
}

// halved is an AVI film without the second half of a picture.
func halved(film []byte, picture int) []byte {
	spoiled := spoiledChunks(film, "00dc", picture, picture)
	from := 0
	for spoiled[from] == film[from] {
		from++
	}
	to := len(film)
	for spoiled[to-1] == film[to-1] {
		to--
	}
	copy(spoiled[from:(from+to)/2], film[from:])
	return spoiled
}

// TestTagsAreNotDamage: of sound with tags behind it, and of files that were joined, people
// were told that part could not be decoded, though all of it was judged: one packet without
// sense was enough. What is damaged beside tags is told as before.
func TestTagsAreNotDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sound := func(name string, args ...string) []byte {
		path := filepath.Join(dir, name)
		ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "anoisesrc=d=1:a=0.3:r=48000:seed=7"}, args, []string{path})...)
		return read(t, path)
	}
	flac, opus, mp3, plain := sound("x.flac"), sound("x.opus"), sound("x.mp3"), sound("y.mp3", "-id3v2_version", "0")
	last := append([]byte("TAG"), make([]byte, 125)...)
	cover := append([]byte("ID3\x03\x00\x00\x00\x01\x00\x00"), noise(1<<14)...)                                            // comes in several packets
	foot := append([]byte("APETAGEX\xd0\x07\x00\x00\x20\x20\x00\x00\x01\x00\x00\x00\x00\x00\x00\x80"), make([]byte, 8)...) // 8224 bytes with itself
	head := bytes.Clone(foot)
	head[23] |= 0x20
	levelled := slices.Concat(head, noise(8192), foot)
	spoiled := slices.Concat(flac, last)
	copy(spoiled[len(flac)/2:], noise(1000))
	gap := noise(5000)
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
		want   []preprocess.Note
	}{
		"FLAC":             {slices.Concat(flac, last), preprocess.FLAC, nil},
		"Opus":             {slices.Concat(opus, opus, opus), preprocess.OGG, nil},
		"MP3":              {slices.Concat(mp3, mp3, mp3), preprocess.MP3, nil},
		"MP3, no tag":      {slices.Concat(plain, plain), preprocess.MP3, nil},
		"MP3, cover":       {slices.Concat(mp3, cover, plain), preprocess.MP3, nil},
		"MP3, both":        {slices.Concat(plain, last, mp3, last), preprocess.MP3, nil},
		"MP3, levelled":    {slices.Concat(mp3, levelled, last), preprocess.MP3, nil},
		"MP3, no header":   {slices.Concat(mp3, noise(100), foot, plain), preprocess.MP3, nil},
		"MP3, and joined":  {slices.Concat(plain, levelled, plain), preprocess.MP3, nil},
		"MP3, after level": {slices.Concat(plain, levelled, plain, gap, plain), preprocess.MP3, []preprocess.Note{preprocess.Incomplete}},
		"FLAC, spoiled":    {spoiled, preprocess.FLAC, []preprocess.Note{preprocess.Incomplete}},
		"FLAC, cut":        {flac[:len(flac)*9/10], preprocess.FLAC, []preprocess.Note{preprocess.Incomplete}},
		"MP3, spoiled":     {slices.Concat(mp3, mp3[:len(mp3)/2], gap, plain), preprocess.MP3, []preprocess.Note{preprocess.Incomplete}},
		"MP3, after cover": {slices.Concat(mp3, cover, plain, gap, plain), preprocess.MP3, []preprocess.Note{preprocess.Incomplete}},
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

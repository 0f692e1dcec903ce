//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deepfaked/preprocess"
)

// TestTrackWithoutPictures: recorders of calls keep a track for a camera that was off. Their recordings were
// refused as damaged films, whatever sound they have.
func TestTrackWithoutPictures(t *testing.T) {
	t.Parallel()
	film := func(name string, args ...string) []byte {
		path := filepath.Join(t.TempDir(), name)
		ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2", "-f", "lavfi", "-i", "sine=440:d=4", "-pix_fmt", "yuv420p"}, args, []string{path})...)
		return read(t, path)
	}
	none := []string{"-vf", "select=0"}
	mp4 := film("x.mp4", "-c:v", "libx264", "-bf", "0", "-c:a", "aac")
	for _, kind := range []string{"stts", "stsc", "stco", "stss"} {
		binary.BigEndian.PutUint32(boxContent(t, mp4, kind)[4:], 0)
	}
	binary.BigEndian.PutUint32(boxContent(t, mp4, "stsz")[8:], 0)
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
	}{
		"WebM": {film("x.webm", append(none, "-c:v", "libvpx", "-c:a", "libopus")...), preprocess.WebM},
		"MKV":  {film("x.mkv", append(none, "-c:v", "libx264", "-c:a", "aac")...), preprocess.Matroska},
		"AVI":  {film("x.avi", append(none, "-c:v", "mpeg4", "-c:a", "libmp3lame")...), preprocess.AVI},
		"MP4":  {mp4, preprocess.MP4},
	} {
		d, err := decodeBytes(t, tc.file, tc.format, preprocess.DefaultLimits())
		if err != nil || d.Kind != preprocess.Audio || len(d.arena.Windows()) == 0 || d.Notes != nil {
			t.Errorf("%s: found %+v, %v", name, d.Found, err)
		}
	}
	// Nor is a film whose other track has pictures: it was told by its sound alone that it is real.
	two := film("two.mkv", "-map", "0:v", "-map", "0:v", "-map", "1:a", "-filter:v:0", "select=0", "-c:v", "libx264", "-c:a", "aac", "-disposition:v:0", "default", "-disposition:v:1", "0")
	if d, err := decodeBytes(t, two, preprocess.Matroska, preprocess.DefaultLimits()); err == nil && d.Kind == preprocess.Audio {
		t.Errorf("of two tracks with pictures: found %+v", d.Found)
	}
	// A film that was cut off behind its sound is none of these.
	late := []string{"-vf", "setpts=PTS+3/TB", "-fps_mode", "passthrough", "-c:v", "libx264", "-bf", "0", "-c:a", "aac", "-movflags"}
	indexed := film("x.mp4", append(late, "faststart")...)
	fragments := film("x.mp4", append(late, "empty_moov+default_base_moof+separate_moof", "-frag_duration", "500000")...)
	before, _, found := bytes.Cut(fragments, []byte("tfhd\x00\x02\x00\x38\x00\x00\x00\x01"))
	if !found {
		t.Fatal("no fragment with pictures")
	}
	for how, file := range map[string][]byte{
		"with an index": indexed[:binary.BigEndian.Uint32(boxContent(t, indexed, "stco")[8:])],
		"in fragments":  fragments[:bytes.LastIndex(before, []byte("moof"))-4],
	} {
		wantNoPictures(t, "cut off, "+how, file, preprocess.MP4)
	}
}

// wantNoPictures asserts that a film is refused for its pictures.
func wantNoPictures(t *testing.T, name string, file []byte, format preprocess.Format) {
	t.Helper()
	_, err := decodeBytes(t, file, format, preprocess.DefaultLimits())
	if err == nil {
		t.Fatalf("%s: judged", name)
	}
	wantFault(t, err, preprocess.UnsupportedMediaType, "none of its pictures")
}

// TestFilmCutOffBeforeItsPictures: WebM and MKV films that broke off between two clusters, with nothing but sound
// until then, were judged as a sound of a second. One that was written while it was recorded, and has no pictures at
// all, can't be told from these.
func TestFilmCutOffBeforeItsPictures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		codecs []string
		format preprocess.Format
	}{
		"x.webm": {[]string{"-c:v", "libvpx", "-c:a", "libopus"}, preprocess.WebM},
		"x.mkv":  {[]string{"-c:v", "libx264", "-c:a", "aac"}, preprocess.Matroska},
	} {
		film := func(args ...string) []byte {
			path := filepath.Join(t.TempDir(), name)
			ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=2", "-f", "lavfi", "-i", "sine=440:d=5", "-pix_fmt", "yuv420p"},
				tc.codecs, args, []string{"-cluster_time_limit", "500", path})...)
			return read(t, path)
		}
		late := film("-vf", "setpts=PTS+3/TB", "-fps_mode", "passthrough")
		cluster, cut := []byte{0x1f, 0x43, 0xb6, 0x75}, 0
		for range 3 {
			cut += 1 + bytes.Index(late[cut+1:], cluster)
		}
		wantNoPictures(t, name+" cut off", late[:cut], tc.format)
		wantNoPictures(t, name+" as it was recorded", film("-vf", "select=0", "-live", "1"), tc.format)
	}
}

// TestWholeSegment: a Matroska file is whole if its segment says where it ends, and that is not behind its end.
func TestWholeSegment(t *testing.T) {
	t.Parallel()
	const header, body = "\x1a\x45\xdf\xa3\x83abc", "\x18\x53\x80\x67\x10\x00\x00\x05"
	for name, tc := range map[string]struct {
		file string
		want bool
	}{
		"whole":           {header + body + "12345", true},
		"more behind":     {header + body + "123456", true},
		"a gap before":    {header + "\xec\x40\x01." + body + "12345", true},
		"of eight bytes":  {header + body[:4] + "\x01\x00\x00\x00\x00\x00\x00\x05" + "12345", true},
		"cut off":         {header + body + "1234", false},
		"of any length":   {header + body[:4] + "\xff" + "12345", false},
		"as recorded":     {header + body[:4] + "\x01\xff\xff\xff\xff\xff\xff\xff" + "12345", false},
		"no length":       {header + body[:4] + "\x00" + "123456789", false},
		"only a header":   {header, false},
		"within":          {header[:7], false},
		"within a number": {header + body[:6], false},
		"nothing":         {"", false},
	} {
		if got := wholeSegment(strings.NewReader(tc.file), int64(len(tc.file))); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

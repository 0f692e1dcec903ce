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
		_, err := decodeBytes(t, file, preprocess.MP4, preprocess.DefaultLimits())
		if err == nil {
			t.Fatalf("cut off, %s: judged", how)
		}
		wantFault(t, err, preprocess.UnsupportedMediaType, "none of its pictures")
	}
}

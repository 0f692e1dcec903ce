//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"path/filepath"
	"testing"

	"deepfaked/preprocess"
)

// TestKeyFramesThatAreNone: recordings that name every picture a key frame, and films in AVI whose
// download broke off, were judged by grey pictures with bits of others on them, all sixteen, and
// nothing told of it. Of H.264 pictures were missing.
func TestKeyFramesThatAreNone(t *testing.T) {
	t.Parallel()
	all := func(film []byte) []byte { return bytes.Replace(film, []byte("stss"), []byte("free"), 1) }
	brokenOff := func(film []byte) []byte { return film[:len(film)*4/5] }
	for name, tc := range map[string]struct {
		codec  []string
		format preprocess.Format
		spoil  func([]byte) []byte
	}{
		"h265.mp4": {[]string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=50:bframes=0"}, preprocess.MP4, all},
		"b.mp4":    {[]string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=50"}, preprocess.MP4, all},
		"h264.mp4": {[]string{"-c:v", "libx264", "-preset", "ultrafast", "-g", "50"}, preprocess.MP4, all},
		"asp.mp4":  {[]string{"-c:v", "mpeg4", "-q:v", "3", "-g", "50", "-bf", "2"}, preprocess.MP4, all},
		"v2.avi":   {[]string{"-c:v", "msmpeg4v2", "-q:v", "3", "-g", "50"}, preprocess.AVI, brokenOff},
		"v3.avi":   {[]string{"-c:v", "msmpeg4", "-q:v", "3", "-g", "50"}, preprocess.AVI, brokenOff},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=10", "-pix_fmt", "yuv420p"}, tc.codec...), path)...)
			d, err := decodeBytes(t, tc.spoil(read(t, path)), tc.format, preprocess.DefaultLimits())
			if err != nil || len(d.arena.Frames()) != 16 {
				t.Fatalf("%d frames, %v", len(d.arena.Frames()), err)
			}
			film := ffmpeg(t, "-i", path, "-vsync", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
			for i, ref := range d.arena.Frames() {
				if off := apart(film, d.pixels(t, i).pix); off > 2 {
					t.Errorf("frame %d at %v is none of the film: %.1f off", i, ref.At, off)
				}
			}
		})
	}
}

// TestStarts: what a packet says of its picture. Where it says nothing, the container counts.
func TestStarts(t *testing.T) {
	t.Parallel()
	hvcC := append([]byte{1}, make([]byte, 22)...)
	hvcC[21] = 0xfd
	for name, n := range map[string]int{"": 0, "\x00\x00\x00\x01\x40": 0, string(hvcC): 2, string(make([]byte, 30)): 0, "\x00\x00\x02" + string(make([]byte, 30)): 1} {
		if got := h265Prefix([]byte(name)); got != n {
			t.Errorf("settings %q: %d, want %d", name, got, n)
		}
	}
	for packet, want := range map[string]bool{
		"": true, "\x00\x03\x4e\x01\x05": true, "\x00\x00\x00": true, // nothing, and beside it
		"\x00\x03\x4e\x01\x05\x00\x02\x28\x01": true, "\x00\x02\x2a\x01": true, // instantly, clean random access
		"\x00\x03\x4e\x01\x05\x00\x02\x02\x01": false, "\x00\x09\x00": false,
	} {
		if got := h265Starts([]byte(packet), 2); got != want {
			t.Errorf("H.265 %q: %v", packet, got)
		}
	}
	for packet, want := range map[string]bool{
		"": true, "\x00\x00\x01\xb0\x01": true, "\x00\x00\x01\xb0\x01\x00\x00\x01\xb6\x10": true,
		"\x00\x00\x01\xb6\x50": false, "\x00\x00\x01\xb6\xd0": false, "\x00\x00\x01\xb6": false,
	} {
		if got := mpeg4Starts([]byte(packet)); got != want {
			t.Errorf("MPEG-4 %q: %v", packet, got)
		}
	}
	for packet, want := range map[string]bool{"": false, "\x3f": true, "\x40": false} {
		if got := divxStarts([]byte(packet)); got != want {
			t.Errorf("DivX 3 %q: %v", packet, got)
		}
	}
}

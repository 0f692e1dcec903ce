//go:build gocv_specific_modules

package decode

import (
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestDamagedPacketsAreNoted: of films of H.265, VP9, AV1 and MJPEG in which the decoder had found
// damage nobody was told, since their pictures don't say so. Of VP9 and AV1 one packet without sense
// was enough for the whole film to be refused.
func TestDamagedPacketsAreNoted(t *testing.T) {
	t.Parallel()
	film := func(name string, codec ...string) string {
		path := filepath.Join(t.TempDir(), name)
		ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=320x240:r=5:d=16", "-pix_fmt", "yuv420p"}, codec, []string{path})...)
		return path
	}
	missing := func(path, picture string) string { // H.265: one that others may rest on
		without := filepath.Join(t.TempDir(), "without.mp4")
		ffmpeg(t, "-i", path, "-c", "copy", "-bsf:v", "noise=drop=eq(n\\,"+picture+")", without)
		return without
	}
	h265 := film("x.mp4", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=80:bframes=0")
	keys := film("x.mp4", "-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=5:min-keyint=5:bframes=0")
	vp9 := read(t, film("x.avi", "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M", "-g", "80"))
	av1 := read(t, film("x.avi", "-c:v", "libsvtav1", "-preset", "12", "-g", "80"))
	mjpeg := read(t, film("x.avi", "-c:v", "mjpeg", "-q:v", "3", "-pix_fmt", "yuvj420p"))
	incomplete := []preprocess.Note{preprocess.Incomplete}
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
		want   []preprocess.Note
	}{
		"H.265":                     {read(t, h265), preprocess.MP4, nil},
		"H.265, without one":        {read(t, missing(h265, "40")), preprocess.MP4, incomplete},
		"H.265, between key frames": {read(t, missing(keys, "27")), preprocess.MP4, nil},
		"VP9":                       {vp9, preprocess.AVI, nil},
		"VP9, without sense":        {spoiledChunks(vp9, "00dc", 20, 20), preprocess.AVI, incomplete},
		"VP9, half":                 {halved(vp9, 40), preprocess.AVI, incomplete},
		"AV1":                       {av1, preprocess.AVI, nil},
		"AV1, half":                 {halved(av1, 1), preprocess.AVI, incomplete},
		"MJPEG":                     {mjpeg, preprocess.AVI, nil},
		"MJPEG, without sense":      {spoiledChunks(mjpeg, "00dc", 27, 27), preprocess.AVI, incomplete},
		"MJPEG, not taken":          {spoiledChunks(mjpeg, "00dc", 28, 28), preprocess.AVI, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := decodeBytes(t, tc.file, tc.format, preprocess.DefaultLimits())
			if err != nil || !slices.Equal(d.Notes, tc.want) || len(d.arena.Frames()) < 8 {
				t.Errorf("%d frames, notes %q, want %q, %v", len(d.arena.Frames()), d.Notes, tc.want, err)
			}
		})
	}
}

// TestWhatRestsOnAPacket: damage behind what is taken, or in another piece, costs nothing.
func TestWhatRestsOnAPacket(t *testing.T) {
	t.Parallel()
	list := []piece{{0, 10}, {20, 60}}
	targets := []target{{packet: 4}, {packet: 20, from: 20}}
	reels := []*reel{{stretch: stretch{packets: []int{30, 32, 31}}}}
	for ordinal, want := range map[int]bool{-1: false, 0: true, 4: true, 5: false, 20: true, 21: true, 32: true, 33: false} {
		if got := wanted(list, targets, reels, ordinal); got != want {
			t.Errorf("of packet %d: %v", ordinal, got)
		}
	}
}

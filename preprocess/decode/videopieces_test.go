//go:build gocv_specific_modules

package decode

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"deepfaked/preprocess"
)

// TestOpenGroups: of a film whose groups of pictures are open, as in broadcasts and from
// camcorders, all but one in sixteen pictures were lost, so that the verdict was on one
// alone, or they were mixed up of two that lie far apart: the decoder took what came
// before a jump for what comes before a key frame. DivX and XviD in AVI had both from
// placeholders that pass for key frames. Films without any but the first were refused
// where they are long: what they have in place of those shows no picture.
func TestOpenGroups(t *testing.T) {
	t.Parallel()
	source := []string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=20", "-pix_fmt", "yuv420p"}
	for name, args := range map[string][]string{
		"short.mp4":   {"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "open-gop=1:keyint=24:bframes=3:ref=3:bluray-compat=1"},
		"long.mkv":    {"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "open-gop=1:keyint=60:scenecut=0:bframes=8:b-adapt=0"},
		"refresh.mp4": {"-c:v", "libx264", "-preset", "veryfast", "-x264-params", "intra-refresh=1:keyint=100:bframes=2"},
		"refresh.avi": {"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "intra-refresh=1:keyint=60"},
		"h265.mp4":    {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:open-gop=1:keyint=48:bframes=4"},
		"h264.avi":    {"-c:v", "libx264", "-preset", "ultrafast", "-x264-params", "open-gop=1:keyint=60:scenecut=0:bframes=4:b-adapt=0"},
		"mpeg4.avi":   {"-c:v", "mpeg4", "-q:v", "3", "-bf", "2", "-g", "50"},
		"xvid.avi":    {"-c:v", "libxvid", "-q:v", "3", "-bf", "2", "-g", "50"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			ffmpeg(t, append(append([]string{}, source...), append(args, path)...)...)
			format := map[string]preprocess.Format{".mp4": preprocess.MP4, ".mkv": preprocess.Matroska, ".avi": preprocess.AVI}[filepath.Ext(name)]
			d := mustDecode(t, path, format)
			if n := len(d.arena.Frames()); n != 16 {
				t.Errorf("%d frames", n)
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

// TestTheLastPictureIsThere: of films of H.265 with open groups the last picture was lost where stretches
// were taken: what follows it, for the decoder to let go of it, was refused for coming over and over.
func TestTheLastPictureIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=45", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "ultrafast",
		"-x265-params", "log-level=none:open-gop=1:keyint=30:min-keyint=30:scenecut=0:bframes=4:b-adapt=0", path)
	d, err := decodePath(t, path, preprocess.MP4, inMotion())
	if err != nil || len(d.arena.Frames()) != 16 || len(d.arena.Stretches()) != 4 {
		t.Errorf("%d frames and %d stretches, %v", len(d.arena.Frames()), len(d.arena.Stretches()), err)
	}
}

// TestCutOpenGroups: of films with open groups that had been cut without coding anew, up to two of sixteen pictures were
// lost: those that the decoder still held back when their part of the film was over, and those before the first whole one.
func TestCutOpenGroups(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "x.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=20", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast",
		"-x264-params", "open-gop=1:keyint=24:min-keyint=24:bframes=8:b-adapt=0:scenecut=0", whole)
	film := ffmpeg(t, "-i", whole, "-vsync", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
	for name, args := range map[string][]string{
		"a.mkv": {"-ss", "11"}, "b.mp4": {"-ss", "13.2"}, "c.mkv": {"-ss", "7", "-t", "0.8"},
	} {
		path := filepath.Join(t.TempDir(), name)
		ffmpeg(t, slices.Concat(args, []string{"-i", whole, "-c", "copy", "-avoid_negative_ts", "make_zero", path})...)
		d := mustDecode(t, path, map[string]preprocess.Format{".mp4": preprocess.MP4, ".mkv": preprocess.Matroska}[filepath.Ext(name)])
		if n := len(d.arena.Frames()); n != 16 || d.Notes != nil {
			t.Errorf("%s: %d frames, notes %q", name, n, d.Notes)
		}
		for i, ref := range d.arena.Frames() {
			if off := apart(film, d.pixels(t, i).pix); off > 2 {
				t.Errorf("%s: frame %d at %v is none of the film: %.1f off", name, i, ref.At, off)
			}
		}
	}
}

// TestCutOpenGroupWithoutTimes: all pictures seemed to be shown with the first, and so to rest on some that had been
// cut away: one was judged.
func TestCutOpenGroupWithoutTimes(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "x.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast",
		"-x264-params", "open-gop=1:keyint=50:min-keyint=50:bframes=2:b-adapt=0:scenecut=0", whole)
	cut, path := filepath.Join(t.TempDir(), "cut.mp4"), filepath.Join(t.TempDir(), "y.mkv")
	ffmpeg(t, "-ss", "2.1", "-i", whole, "-c", "copy", cut)
	ffmpeg(t, "-i", cut, "-c", "copy", "-bsf:v", "setts=ts=0", path)
	if n := len(mustDecode(t, path, preprocess.Matroska).arena.Frames()); n < 14 {
		t.Errorf("%d frames", n)
	}
}

// TestRefreshedPictures: of films of H.264 with intra-refresh, pictures were judged of which a part had been made up, or
// was of another part of the film: the first of a refresh was lost where its number began anew, as every sixteenth does.
func TestRefreshedPictures(t *testing.T) {
	t.Parallel()
	for _, every := range []string{"48", "49", "60"} {
		path := filepath.Join(t.TempDir(), "x.mp4")
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=20", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast",
			"-x264-params", "intra-refresh=1:keyint="+every, "-movflags", "frag_keyframe+empty_moov", path)
		d := mustDecode(t, path, preprocess.MP4)
		if n := len(d.arena.Frames()); n != 16 {
			t.Errorf("refreshed every %s: %d frames", every, n)
		}
		film := ffmpeg(t, "-i", path, "-vsync", "passthrough", "-pix_fmt", "rgb24", "-f", "rawvideo", "-")
		for i, ref := range d.arena.Frames() {
			if off := apart(film, d.pixels(t, i).pix); off > .1 {
				t.Errorf("refreshed every %s: frame %d at %v is none of the film: %.2f off", every, i, ref.At, off)
			}
		}
	}
}

// TestALostKeyFrame: where a key frame of VP8, VP9 or AV1 could not be decoded, the pictures that rest on it
// were made of one from another part of the film, and judged.
func TestALostKeyFrame(t *testing.T) {
	t.Parallel()
	for name, codec := range map[string][]string{
		"VP8": {"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M"},
		"VP9": {"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M"},
		"AV1": {"-c:v", "libsvtav1", "-preset", "12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.avi")
			ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", "testsrc2=s=160x120:r=25:d=20", "-pix_fmt", "yuv420p", "-g", "100", "-keyint_min", "100"}, codec, []string{path})...)
			d, err := decodeBytes(t, spoiledChunks(read(t, path), "00dc", 200, 200), preprocess.AVI, preprocess.DefaultLimits())
			if err != nil || !slices.Equal(d.Notes, []preprocess.Note{preprocess.Incomplete}) || len(d.arena.Frames()) < 12 {
				t.Fatalf("%d frames, notes %q, %v", len(d.arena.Frames()), d.Notes, err)
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

// apart is how much a picture differs from that of a film which is nearest to it: the
// mean over its values, of which every seventh is looked at.
func apart(film, pix []byte) float64 {
	least := math.Inf(1)
	for ; len(film) >= len(pix); film = film[len(pix):] {
		sum := 0
		for i := 0; i < len(pix); i += 7 {
			sum += max(int(film[i])-int(pix[i]), int(pix[i])-int(film[i]))
		}
		least = min(least, 7*float64(sum)/float64(len(pix)))
	}
	return least
}

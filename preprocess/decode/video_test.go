//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// clock is ten seconds of a film that tells the time: a corner each in red,
// green, blue and white, and in the middle a grey that goes from black to white.
// It returns the path of a lossless copy with sound.
func clock(t testing.TB, seconds int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clock.mkv")
	grey := fmt.Sprintf("255*T/%d", seconds)
	corner := func(left, right string, leftLow, rightLow string) string {
		return fmt.Sprintf("if(between(X,W/4,3*W/4)*between(Y,H/4,3*H/4),%s,if(lt(Y,H/2),if(lt(X,W/2),%s,%s),if(lt(X,W/2),%s,%s)))",
			grey, left, right, leftLow, rightLow)
	}
	graph := fmt.Sprintf("color=s=160x128:r=10:d=%d,format=gbrp,geq=r='%s':g='%s':b='%s'", seconds,
		corner("255", "0", "0", "255"), corner("0", "255", "0", "255"), corner("0", "0", "255", "255"))
	ffmpeg(t, "-f", "lavfi", "-i", graph, "-f", "lavfi", "-i", fmt.Sprintf("aevalsrc=0.5*sin(2*PI*440*t):s=48000:d=%d", seconds),
		"-c:v", "ffv1", "-c:a", "pcm_s16le", path)
	return path
}

// encode makes a file out of the clock.
func encode(t testing.TB, master, name string, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	args = append([]string{"-i", master, "-pix_fmt", "yuv420p"}, args...)
	ffmpeg(t, append(args, path)...)
	return path
}

// Colours of the clock's corners.
var (
	red, green  = [3]int{255, 0, 0}, [3]int{0, 255, 0}
	blue, white = [3]int{0, 0, 255}, [3]int{255, 255, 255}
)

// wantCorners checks the colours from the top left corner clockwise.
func wantCorners(t *testing.T, p rgbPicture, want [4][3]int) {
	t.Helper()
	for i, at := range [4][2]float64{{0.1, 0.1}, {0.9, 0.1}, {0.9, 0.9}, {0.1, 0.9}} {
		if got := p.at(at[0], at[1]); !near(got, want[i], 30) {
			t.Errorf("corner %d is %v, want %v", i, got, want[i])
		}
	}
}

// wantClock checks that the frames show the time they claim and come from the
// whole length, each picture once.
func wantClock(t *testing.T, d decoded, seconds int) {
	t.Helper()
	frames := preprocess.DefaultLimits().Frames
	refs := d.arena.Frames()
	if len(refs) != frames {
		t.Fatalf("%d frames, want %d", len(refs), frames)
	}
	length := time.Duration(seconds) * time.Second
	for i, ref := range refs {
		grey := d.pixels(t, i).at(0.5, 0.5)
		shown := length * time.Duration(grey[1]) / 255
		if (shown - ref.At).Abs() > length/20 { // AVI says when a picture is decoded, not when it is shown
			t.Errorf("frame %d is said to be at %v and shows %v", i, ref.At, shown)
		}
		middle := (time.Duration(2*i+1) * length) / time.Duration(2*frames)
		if (ref.At - middle).Abs() > length/time.Duration(2*frames)+100*time.Millisecond {
			t.Errorf("frame %d is at %v, far from %v", i, ref.At, middle)
		}
		if i > 0 && ref.At <= refs[i-1].At {
			t.Errorf("frame %d is at %v, not after %v", i, ref.At, refs[i-1].At)
		}
	}
}

// videoCodecsTested are the ways to encode.
func videoCodecsTested() map[string][]string {
	return map[string][]string{
		"H.264":           {"-c:v", "libx264", "-preset", "veryfast"},
		"H.264 open GOP":  {"-c:v", "libx264", "-preset", "veryfast", "-bf", "3", "-x264-params", "open-gop=1:keyint=10:bframes=3:b-adapt=0"},
		"H.264 short GOP": {"-c:v", "libx264", "-preset", "veryfast", "-g", "5"},
		"H.265":           {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"},
		"H.265 open GOP":  {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:open-gop=1:keyint=10:bframes=4:b-adapt=0"},
		"H.265 10-bit":    {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le", "-tag:v", "hvc1"},
		"Theora":          {"-c:v", "libtheora", "-q:v", "9"},
		"VP8":             {"-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-auto-alt-ref", "1", "-lag-in-frames", "10", "-b:v", "1M"},
		"VP9":             {"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M"},
		"AV1":             {"-c:v", "libsvtav1", "-preset", "12"},
		"MPEG-4":          {"-c:v", "mpeg4", "-q:v", "2", "-bf", "2"},
		"MJPEG":           {"-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj420p"},
	}
}

func TestVideoOfEveryContainerAndCodec(t *testing.T) {
	t.Parallel()
	master := clock(t, 6)
	codecs := videoCodecsTested()
	for _, tc := range []struct {
		format preprocess.Format
		ext    string
		sound  string
		codecs []string
	}{
		{preprocess.MP4, "mp4", "aac", []string{"H.264", "H.264 open GOP", "H.264 short GOP", "H.265", "H.265 open GOP", "H.265 10-bit", "VP9", "AV1", "MPEG-4"}},
		{preprocess.MOV, "mov", "pcm_s16le", []string{"H.264", "H.265", "MPEG-4", "MJPEG"}},
		{preprocess.ThreeGP, "3gp", "aac", []string{"H.264"}},
		{preprocess.Matroska, "mkv", "libvorbis", []string{"H.264", "H.264 open GOP", "H.265", "VP8", "VP9", "AV1", "MPEG-4", "MJPEG"}},
		{preprocess.WebM, "webm", "libopus", []string{"VP8", "VP9", "AV1"}},
		{preprocess.OGG, "ogv", "libvorbis", []string{"Theora"}},
		{preprocess.AVI, "avi", "libmp3lame", []string{"H.264", "MPEG-4", "MJPEG"}},
	} {
		for _, codec := range tc.codecs {
			t.Run(string(tc.format)+" "+codec, func(t *testing.T) {
				t.Parallel()
				path := encode(t, master, "x."+tc.ext, append([]string{"-c:a", tc.sound}, codecs[codec]...)...)
				d := mustDecode(t, path, tc.format)
				if d.Kind != preprocess.Video || d.Format != string(tc.format) || d.Width != 160 || d.Height != 128 || d.Notes != nil {
					t.Errorf("found %+v", d.Found)
				}
				if d.Duration < 5900*time.Millisecond || d.Duration > 6300*time.Millisecond {
					t.Errorf("lasts %v", d.Duration)
				}
				wantClock(t, d, 6)
				wantCorners(t, d.pixels(t, 3), [4][3]int{red, green, white, blue})
				if n := len(d.arena.Windows()); n != 1 && n != 2 { // six seconds are one and a half: codecs pad or cut
					t.Fatalf("%d windows", n)
				}
				wantTone(t, window(t, d.arena, 0)[8000:56000], 0.5, 0.06)
			})
		}
	}
}

// turned writes a display matrix into the first track of an MP4 file, as a
// phone does: its first two rows and columns.
func turned(t *testing.T, path string, m [4]int32) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := box(t, file, "tkhd") + 40
	for i, v := range []int32{m[0], m[1], 0, m[2], m[3]} {
		binary.BigEndian.PutUint32(file[at+4*i:], uint32(v)<<16)
	}
	return file
}

// TestRotationIsHonoured: a mirrored film, as some phones write with the camera
// in front, was taken for one that is turned, and judged upside down.
func TestRotationIsHonoured(t *testing.T) {
	t.Parallel()
	path := encode(t, clock(t, 2), "x.mp4", "-c:v", "libx264", "-an")
	for name, tc := range map[string]struct {
		matrix [4]int32
		want   [4][3]int
	}{
		"90°":                 {[4]int32{0, 1, -1, 0}, [4][3]int{blue, red, green, white}},
		"180°":                {[4]int32{-1, 0, 0, -1}, [4][3]int{white, blue, red, green}},
		"270°":                {[4]int32{0, -1, 1, 0}, [4][3]int{green, white, blue, red}},
		"left and right":      {[4]int32{-1, 0, 0, 1}, [4][3]int{green, red, blue, white}},
		"top and bottom":      {[4]int32{1, 0, 0, -1}, [4][3]int{blue, white, green, red}},
		"along a diagonal":    {[4]int32{0, 1, 1, 0}, [4][3]int{red, blue, white, green}},
		"along the other one": {[4]int32{0, -1, -1, 0}, [4][3]int{white, green, red, blue}},
	} {
		file := turned(t, path, tc.matrix)
		d, err := decodeBytes(t, file, preprocess.MP4, preprocess.DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w, h := 160, 128
		if tc.matrix[0] == 0 {
			w, h = h, w
		}
		if ref := d.arena.Frames()[0]; d.Width != w || d.Height != h || ref.Width != w || ref.Height != h {
			t.Errorf("%s: found %+v, frame %+v", name, d.Found, ref)
		}
		wantCorners(t, d.pixels(t, 5), tc.want)
		other := filepath.Join(t.TempDir(), "turned.mp4")
		if err := os.WriteFile(other, file, 0o600); err != nil {
			t.Fatal(err)
		}
		raw := ffmpeg(t, "-i", other, "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
		wantCorners(t, rgbPicture{raw, w, h}, tc.want) // ffmpeg turns them the same way
	}
}

func TestVariableFrameRate(t *testing.T) {
	t.Parallel()
	master := clock(t, 10)
	for name, f := range map[string]preprocess.Format{"x.mp4": preprocess.MP4, "x.mkv": preprocess.Matroska} {
		path := encode(t, master, name, "-vf", "select='lt(t,3)+not(mod(n,7))'", "-fps_mode", "vfr", "-c:v", "libx264", "-an")
		d := mustDecode(t, path, f)
		if d.Duration < 9*time.Second || d.Duration > 10500*time.Millisecond {
			t.Errorf("%s lasts %v", name, d.Duration)
		}
		refs := d.arena.Frames()
		if len(refs) < 13 {
			t.Fatalf("%s: %d frames", name, len(refs))
		}
		for i, ref := range refs {
			shown := 10 * time.Second * time.Duration(d.pixels(t, i).at(0.5, 0.5)[1]) / 255
			if (shown - ref.At).Abs() > 400*time.Millisecond {
				t.Errorf("%s: frame %d is said to be at %v and shows %v", name, i, ref.At, shown)
			}
		}
		if refs[0].At > time.Second || refs[len(refs)-1].At < 8*time.Second {
			t.Errorf("%s: frames from %v to %v", name, refs[0].At, refs[len(refs)-1].At)
		}
	}
}

// TestFilmWithAPause: cameras that begin when something moves keep the times. Of such films
// next to nothing was judged.
func TestFilmWithAPause(t *testing.T) {
	t.Parallel()
	path := encode(t, clock(t, 6), "x.mp4", "-vf", "setpts='if(gt(N,30),PTS+600/TB,PTS)'", "-fps_mode", "vfr", "-c:v", "libx264", "-an")
	d := mustDecode(t, path, preprocess.MP4)
	if n := len(d.arena.Frames()); n != preprocess.DefaultLimits().Frames || d.Duration < 10*time.Minute {
		t.Errorf("%d frames of %v", n, d.Duration)
	}
	shown := map[[3]int]bool{}
	for i := range d.arena.Frames() {
		shown[d.pixels(t, i).at(0.5, 0.5)] = true
	}
	if len(shown) < 12 { // encoders round
		t.Errorf("only %d pictures differ", len(shown))
	}
}

func TestShortVideos(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	for codec, args := range videoCodecsTested() {
		for _, frames := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%d frames of %s", frames, codec), func(t *testing.T) {
				t.Parallel()
				path := encode(t, master, "x.mkv", append([]string{"-an", "-frames:v", fmt.Sprint(frames)}, args...)...)
				if d := mustDecode(t, path, preprocess.Matroska); d.Kind != preprocess.Video || len(d.arena.Frames()) != frames {
					t.Fatalf("found %+v, %d frames", d.Found, len(d.arena.Frames()))
				}
			})
		}
	}
}

// TestLongGroupOfPictures: a single key frame must not mean a single picture.
func TestLongGroupOfPictures(t *testing.T) {
	t.Parallel()
	path := encode(t, clock(t, 10), "x.mp4", "-c:v", "libx264", "-g", "10000", "-sc_threshold", "0", "-an")
	wantClock(t, mustDecode(t, path, preprocess.MP4), 10)
}

// TestTrimmedVideo: a cut without coding anew leaves packets before the start
// that are decoded but not shown; where there was no time to decode all, they
// were taken for pictures, at negative times, and the server refused the reply.
func TestTrimmedVideo(t *testing.T) {
	t.Parallel()
	whole := encode(t, clock(t, 10), "x.mp4", "-c:v", "libx264", "-g", "10000", "-sc_threshold", "0", "-an")
	path := filepath.Join(t.TempDir(), "trimmed.mp4")
	ffmpeg(t, "-ss", "5", "-i", whole, "-c", "copy", path)
	for name, packets := range map[string]int{"all": 1000, "few": 60, "less than are hidden": 25} {
		arena := testArena(t)
		if _, err := decodeWithin(t, path, packets*160*128, arena); err != nil {
			t.Fatal(err)
		}
		refs := arena.Frames()
		if len(refs) < 5 {
			t.Fatalf("%s: %d frames", name, len(refs))
		}
		d := decoded{arena: arena}
		for i, ref := range refs {
			shown := 10*time.Second*time.Duration(d.pixels(t, i).at(0.5, 0.5)[1])/255 - 5*time.Second
			if ref.At < 0 || (shown-ref.At).Abs() > 500*time.Millisecond {
				t.Errorf("%s: frame %d is said to be at %v and shows %v", name, i, ref.At, shown)
			}
		}
	}
}

// decodeWithin decodes an MP4 file as decodeContainer does, with that many
// pixels to decode in all pictures together.
func decodeWithin(t *testing.T, path string, pixels int, out *Arena) (Found, error) {
	t.Helper()
	src, in := openTest(t, path)
	c := container{sound: sound{limit: src.Limits.Duration}}
	if err := c.scan(in, src); err != nil {
		t.Fatal(err)
	}
	c.video.pixels = pixels
	return c.write(src, out)
}

// openTest opens an MP4 file until the end of the test.
func openTest(t *testing.T, path string) (Source, *input) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	src := Source{File: file, Size: info.Size(), Format: preprocess.MP4, Limits: preprocess.DefaultLimits()}
	in, err := openInput(src)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return src, in
}

// TestStreamedFiles: files that were written as they were recorded have no
// index, no duration and no frame count.
func TestStreamedFiles(t *testing.T) {
	t.Parallel()
	master := clock(t, 6)
	fragments := encode(t, master, "x.mp4", "-c:v", "libx264", "-g", "20", "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov")
	wantClock(t, mustDecode(t, fragments, preprocess.MP4), 6)
	live := encode(t, master, "x.webm", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "8", "-b:v", "1M", "-c:a", "libopus", "-live", "1")
	wantClock(t, mustDecode(t, live, preprocess.WebM), 6)
}

// TestSizeChangesMidway: a stream may change its size, as recordings of calls do with the
// network; the pictures are those that were there. OpenCV goes on by the first size: larger
// pictures were the last one before them over and over, smaller ones showed what lay beside
// them in memory.
func TestSizeChangesMidway(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	sizes := []string{"160x128", "320x256", "80x64", "160x128"}
	for name, codec := range map[string][]string{
		"VP8":   {"-c:v", "libvpx", "-b:v", "1M"},
		"VP9":   {"-c:v", "libvpx-vp9", "-b:v", "1M", "-cpu-used", "8"},
		"H.264": {"-c:v", "libx264", "-g", "5", "-bf", "0", "-bsf:v", "dump_extra"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list strings.Builder
			for _, size := range sizes {
				part := encode(t, master, size+".mkv", append([]string{"-an", "-s", size}, codec...)...)
				fmt.Fprintf(&list, "file '%s'\n", part)
			}
			parts, path := filepath.Join(t.TempDir(), "parts.txt"), filepath.Join(t.TempDir(), "all.mkv")
			if err := os.WriteFile(parts, []byte(list.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			ffmpeg(t, "-f", "concat", "-safe", "0", "-i", parts, "-c", "copy", path)
			d := mustDecode(t, path, preprocess.Matroska)
			refs := d.arena.Frames()
			if d.Width != 160 || len(refs) < 12 {
				t.Fatalf("found %+v, %d frames", d.Found, len(refs))
			}
			for i, ref := range refs {
				if got, want := fmt.Sprintf("%dx%d", ref.Width, ref.Height), sizes[int(ref.At.Seconds()/2)]; got != want {
					t.Errorf("the frame at %v is %s, want %s", ref.At, got, want)
				}
				wantCorners(t, d.pixels(t, i), [4][3]int{red, green, white, blue})
				shown := 2 * float64(d.pixels(t, i).at(0.5, 0.5)[1]) / 255
				if at := math.Mod(ref.At.Seconds(), 2); math.Abs(shown-at) > 0.15 {
					t.Errorf("the frame at %v shows %.2f s of its part", ref.At, shown)
				}
			}
		})
	}
}

// TestLargeFramesAreShrunk: the longer side is at most that of the limits.
func TestLargeFramesAreShrunk(t *testing.T) {
	t.Parallel()
	path := encode(t, clock(t, 1), "x.mp4", "-vf", "scale=1920:1080", "-c:v", "libx264", "-preset", "ultrafast", "-an")
	d := mustDecode(t, path, preprocess.MP4)
	if ref := d.arena.Frames()[0]; d.Width != 1920 || d.Height != 1080 || ref.Width != 1280 || ref.Height != 720 {
		t.Fatalf("found %+v, frame %+v", d.Found, ref)
	}
	wantCorners(t, d.pixels(t, 0), [4][3]int{red, green, white, blue})
}

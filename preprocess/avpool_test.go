//go:build gocv_specific_modules

package preprocess_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// TestSoundAndVideoThroughThePool decodes in the sandboxed child, within its
// limits of memory, files and time.
func TestSoundAndVideoThroughThePool(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg command to synthesise media with: run the set-up script")
	}
	pool := newPool(t, poolOptions(t, "decode"))
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		kind preprocess.Kind
		args []string
	}{
		{"x.wav", preprocess.Audio, []string{"-vn"}},
		{"x.mp3", preprocess.Audio, []string{"-vn"}},
		{"x.m4a", preprocess.Audio, []string{"-vn"}},
		{"x.opus", preprocess.Audio, []string{"-vn", "-ar", "48000"}},
		{"h264.mp4", preprocess.Video, []string{"-c:v", "libx264", "-pix_fmt", "yuv420p"}},
		{"hevc.mov", preprocess.Video, []string{"-c:v", "libx265", "-x265-params", "log-level=none", "-preset", "ultrafast"}},
		{"vp9.webm", preprocess.Video, []string{"-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-ar", "48000"}},
		{"av1.mkv", preprocess.Video, []string{"-c:v", "libsvtav1", "-preset", "12"}},
		{"mjpeg.avi", preprocess.Video, []string{"-c:v", "mjpeg", "-pix_fmt", "yuvj420p"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, test.name)
			args := append([]string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=640x360:d=2", "-f", "lavfi", "-i", "sine=440:d=2"}, test.args...)
			if out, err := exec.CommandContext(t.Context(), tool, append(args, path)...).CombinedOutput(); err != nil {
				t.Fatalf("ffmpeg: %v\n%s", err, out)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			media, err := decodeBytes(t, pool, data, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			if media.Kind != test.kind || len(media.Windows) == 0 || (media.Duration-2*time.Second).Abs() > 200*time.Millisecond {
				t.Errorf("got %s of %v with %d windows", media.Kind, media.Duration, len(media.Windows))
			}
			if test.kind == preprocess.Video && (len(media.Frames) != 16 || media.Width != 640) {
				t.Errorf("got %d frames, %d pixels wide", len(media.Frames), media.Width)
			}
		})
	}
}

// TestFileThatLostItsEnd: of a file whose end the disk had lost the service said that it was
// damaged, so that the one who had sent a good file was told to send another, and of sound
// it judged what was left.
func TestFileThatLostItsEnd(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg command to synthesise media with: run the set-up script")
	}
	pool := newPool(t, poolOptions(t, "decode"))
	for _, name := range []string{"x.jpg", "x.wav", "x.mp3", "x.mp4"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			args := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=1280x720:r=10:d=4", "-f", "lavfi", "-i", "anoisesrc=d=4"}
			if filepath.Ext(name) == ".jpg" {
				args = append(args, "-frames:v", "1", "-update", "1")
			}
			if out, err := exec.CommandContext(t.Context(), tool, append(args, path)...).CombinedOutput(); err != nil {
				t.Fatalf("ffmpeg: %v\n%s", err, out)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lost := file(t, data[:len(data)/3])
			media, err := pool.Decode(t.Context(), lost, int64(len(data)), "", nil)
			if media != nil {
				media.Close()
			}
			var fault *preprocess.Error
			if err == nil || errors.As(err, &fault) {
				t.Errorf("it is not said to be the service's fault: %v", err)
			}
		})
	}
}

// TestStretchesThroughThePool: a child's stretches come with its frames, in memory that
// goes with them.
func TestStretchesThroughThePool(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg command to synthesise media with: run the set-up script")
	}
	path := filepath.Join(t.TempDir(), "x.mp4")
	args := []string{"-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=1280x720:d=3", "-c:v", "libx264", "-preset", "ultrafast"}
	if out, err := exec.CommandContext(t.Context(), tool, append(args, path)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v\n%s", err, out)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts := poolOptions(t, "decode")
	opts.Limits.Stretches, opts.Limits.StretchFrames, opts.Limits.StretchSide = 4, 30, 640
	opts.OutputBytes = opts.Limits.OutputBytes()
	media, err := decodeBytes(t, newPool(t, opts), data, preprocess.Video)
	if err != nil {
		t.Fatal(err)
	}
	if len(media.Stretches) != 2 || len(media.Frames) != 16 {
		t.Fatalf("%d stretches and %d frames", len(media.Stretches), len(media.Frames))
	}
	for i, s := range media.Stretches {
		f := s.Frames[29]
		if len(s.Frames) != 30 || f.Width != 640 || f.Height != 360 || len(f.Pix) != 640*360*3 || f.At-s.Frames[0].At != 29*40*time.Millisecond {
			t.Errorf("stretch %d: %d frames of %d by %d pixels, from %v to %v", i, len(s.Frames), f.Width, f.Height, s.Frames[0].At, f.At)
		}
	}
	if media.Close(); media.Stretches != nil {
		t.Error("stretches outlive their memory")
	}
}

// TestSoundIsToldOfEarly: the real decoder tells of all windows of a sound but the
// last while it is at work, and they are those of the media. Sound that is stored as it
// is judged is there at once, and told of once: messages, mappings and work of their own for
// each window cost a file of ten seconds 3 % of its processor time.
func TestSoundIsToldOfEarly(t *testing.T) {
	t.Parallel()
	for rate, want := range map[uint32]map[int]int{
		8_000:  {0: 1, 1: 1, 2: 1, 3: 1},
		16_000: {0: 4},
	} {
		t.Run(strconv.Itoa(int(rate)), func(t *testing.T) {
			t.Parallel()
			pool := newPool(t, poolOptions(t, "decode"))
			var mu sync.Mutex
			told := map[int]int{}
			data := silence(rate, 16*time.Second)
			media, err := pool.Decode(t.Context(), file(t, data), int64(len(data)), "", func(_ context.Context, from int, w []preprocess.Window) {
				mu.Lock()
				defer mu.Unlock()
				told[from] += len(w)
			})
			if err != nil {
				t.Fatal(err)
			}
			defer media.Close()
			media.Heard()
			if len(media.Windows) != 4 || !maps.Equal(told, want) {
				t.Errorf("%d windows, told of in %v", len(media.Windows), told)
			}
		})
	}
}

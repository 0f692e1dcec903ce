//go:build gocv_specific_modules

package decode

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// benchmark decodes one file again and again.
func benchmark(b *testing.B, path string, f preprocess.Format) {
	b.Helper()
	file, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		b.Fatal(err)
	}
	fd, err := unix.MemfdCreate("out", unix.MFD_CLOEXEC) // as the server's, but for its seals
	if err != nil {
		b.Fatal(err)
	}
	out := os.NewFile(uintptr(fd), "out")
	defer func() { _ = out.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		arena := NewArena(out, 1<<30)
		if _, err := decodeFile(Source{File: file, Size: info.Size(), Format: f, Limits: preprocess.DefaultLimits()}, arena); err != nil {
			b.Fatal(err)
		}
		_ = arena.Close()
		if err := out.Truncate(0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWAV10s decodes 10 seconds at the rate that is judged, which need no
// resampler, and as a recorder writes them.
func BenchmarkWAV10s(b *testing.B) {
	const tone = "0.5*sin(2*PI*440*t)"
	for name, source := range map[string]string{
		"16 kHz mono":     tone + ":s=16000:d=10",
		"16 kHz stereo":   tone + "|" + tone + ":s=16000:d=10",
		"44.1 kHz stereo": tone + "|" + tone + ":s=44100:d=10",
	} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.wav")
			ffmpeg(b, "-f", "lavfi", "-i", "aevalsrc="+source, path)
			benchmark(b, path, preprocess.WAV)
		})
	}
}

// BenchmarkVideo10s decodes 10 seconds of 720p: its 16 pictures, its sound, and
// both, with key frames as far apart as x264 puts them and as phones do.
func BenchmarkVideo10s(b *testing.B) {
	source := []string{"-f", "lavfi", "-i", "testsrc2=s=1280x720:r=25:d=10", "-f", "lavfi", "-i", "sine=440:d=10"}
	for name, args := range map[string][]string{
		"frames GOP 250": {"-map", "0:v", "-g", "250"},
		"frames GOP 25":  {"-map", "0:v", "-g", "25"},
		"sound":          {"-map", "1:a"},
		"both GOP 250":   {"-map", "0:v", "-map", "1:a", "-g", "250"},
	} {
		b.Run(name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "x.mp4")
			all := append(append([]string{}, source...), args...)
			ffmpeg(b, append(all, "-c:v", "libx264", "-preset", "veryfast", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-c:a", "aac", path)...)
			benchmark(b, path, preprocess.MP4)
		})
	}
}

//go:build gocv_specific_modules

package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// BenchmarkVerdict measures what a client waits for after the last byte of its
// upload (verdict-ms), next to what can't be spared (bare-ms): decoding, done
// in this process (decode-ms), and Run of the very same batches on a session
// with the same settings (run-ms), finding faces among them. overhead-% is what the
// service adds to those two.
// The service and what is bare take turns, so that noise hits both. Each figure
// is the median over the turns, since times have long tails: that of bare of the
// turns' sums, that of overhead of the turns' ratios, which the drift of a
// machine's speed leaves alone.
func BenchmarkVerdict(b *testing.B) {
	server := startServer(b)
	bare := openBare(b)
	for _, m := range []struct {
		name   string
		format preprocess.Format
		make   func(testing.TB) string
	}{
		{"jpeg", preprocess.JPEG, detailed},
		{"wav", preprocess.WAV, speech},
		{"video", preprocess.MP4, film},
	} {
		b.Run(m.name, func(b *testing.B) {
			path := m.make(b)
			work := bare.prepare(b, path, m.format)
			server.verdict(b, path) // a new connection, a new child: once, for both
			var verdict, bare, decode, run []time.Duration
			var overhead []float64
			for i := 0; b.Loop(); i++ {
				verdict = append(verdict, server.verdict(b, path))
				decode = append(decode, work.decode(b))
				run = append(run, work.run(b))
				bare = append(bare, decode[i]+run[i])
				overhead = append(overhead, 100*(float64(verdict[i])/float64(bare[i])-1))
			}
			for unit, d := range map[string]time.Duration{
				"verdict-ms": median(verdict), "bare-ms": median(bare),
				"decode-ms": median(decode), "run-ms": median(run),
			} {
				b.ReportMetric(float64(d)/float64(time.Millisecond), unit)
			}
			b.ReportMetric(median(overhead), "overhead-%")
			b.ReportMetric(0, "ns/op") // of both together: it says nothing
		})
	}
}

func median[T cmp.Ordered](all []T) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

// detailed is a JPEG of 1280×720 pixels with detail everywhere.
func detailed(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "picture.jpg")
	tool(t, "ffmpeg", "-f", "lavfi", "-i", "mandelbrot=size=1280x720", "-frames:v", "1", "-q:v", "3", path)
	return path
}

// speech is a WAV file of 10 seconds.
func speech(t testing.TB) string {
	t.Helper()
	spoken, path := filepath.Join(t.TempDir(), "spoken.wav"), filepath.Join(t.TempDir(), "speech.wav")
	tool(t, "espeak-ng", "-w", spoken, "This sentence goes on and on, so that there is enough to listen to, "+
		"and when it seems to come to its end, it begins anew, for ten seconds are longer than one would think, "+
		"and nothing is to be left silent.")
	tool(t, "ffmpeg", "-stream_loop", "-1", "-i", spoken, "-t", "10", "-ar", "44100", "-ac", "2", path)
	return path
}

// film is 10 seconds of H.264 in 1280×720 pixels, as a phone would store them,
// with sound.
func film(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.mp4")
	tool(t, "ffmpeg", "-f", "lavfi", "-i", "mandelbrot=size=1280x720:rate=30", "-i", speech(t), "-t", "10",
		"-c:v", "libx264", "-preset", "veryfast", "-g", "30", "-pix_fmt", "yuv420p", "-c:a", "aac", path)
	return path
}

// tool runs a program that makes media.
func tool(t testing.TB, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not there to make media with: run scripts/setup --tests", name)
	}
	if name == "ffmpeg" {
		args = append([]string{"-nostdin", "-v", "error", "-y"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

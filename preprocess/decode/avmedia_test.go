//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"math"
	"math/cmplx"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"deepfaked/preprocess"
)

// ffmpeg runs the command line tool and returns its standard output.
func ffmpeg(t testing.TB, args ...string) []byte {
	t.Helper()
	tool, err := exec.LookPath("ffmpeg")
	if err != nil {
		t.Skip("no ffmpeg command to synthesise media with: run the set-up script")
	}
	cmd := exec.CommandContext(t.Context(), tool, append([]string{"-v", "error", "-nostdin", "-y"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("ffmpeg %v: %v\n%s", args, err, errs.Bytes())
	}
	return out.Bytes()
}

// decoded is what came out of a file.
type decoded struct {
	Found
	arena *Arena
}

// testArena holds a gigabyte and is closed with the test or benchmark.
func testArena(t testing.TB) *Arena {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "test")
	arena := NewArena(file, 1<<30)
	t.Cleanup(func() {
		_ = arena.Close()
		_ = file.Close()
	})
	return arena
}

// decodePath decodes a file as the child does.
func decodePath(t testing.TB, path string, f preprocess.Format, l preprocess.Limits) (decoded, error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	arena := testArena(t)
	found, err := decodeFile(Source{File: file, Size: info.Size(), Format: f, Limits: l}, arena)
	return decoded{found, arena}, err
}

// decodeBytes decodes a file that is in memory.
func decodeBytes(t testing.TB, content []byte, f preprocess.Format, l preprocess.Limits) (decoded, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return decodePath(t, path, f, l)
}

// mustDecode fails the test for a file that is not decoded.
func mustDecode(t testing.TB, path string, f preprocess.Format) decoded {
	t.Helper()
	d, err := decodePath(t, path, f, preprocess.DefaultLimits())
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return d
}

// pixels are those of frame i.
func (d decoded) pixels(t testing.TB, i int) rgbPicture {
	t.Helper()
	ref := d.arena.Frames()[i]
	pix := make([]byte, ref.Width*ref.Height*3)
	if _, err := d.arena.file.ReadAt(pix, ref.Offset); err != nil {
		t.Fatal(err)
	}
	return rgbPicture{pix, ref.Width, ref.Height}
}

// rgbPicture is RGB without padding.
type rgbPicture struct {
	pix  []byte
	w, h int
}

// at is the colour at a place given in parts of the width and height.
func (p rgbPicture) at(x, y float64) [3]int {
	i := (int(y*float64(p.h))*p.w + int(x*float64(p.w))) * 3
	return [3]int{int(p.pix[i]), int(p.pix[i+1]), int(p.pix[i+2])}
}

// near tells whether two colours look alike.
func near(a, b [3]int, tolerance int) bool {
	for i := range a {
		if d := a[i] - b[i]; d > tolerance || d < -tolerance {
			return false
		}
	}
	return true
}

// level is the amplitude of the frequency in a sound at soundRate.
func level(x []float32, frequency float64) float64 {
	var sum complex128
	for n, v := range x {
		sum += complex(float64(v), 0) * cmplx.Rect(1, -2*math.Pi*frequency*float64(n)/soundRate)
	}
	return 2 * cmplx.Abs(sum) / float64(len(x))
}

// power is the mean square.
func power(x []float32) float64 {
	var sum float64
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return sum / float64(len(x))
}

// wantTone fails unless x is a tone of 440 Hz of the given amplitude and little
// else.
func wantTone(t *testing.T, x []float32, amplitude, tolerance float64) {
	t.Helper()
	got := level(x, 440)
	if math.Abs(got-amplitude) > tolerance*amplitude {
		t.Errorf("the tone has amplitude %.4f, want %.4f", got, amplitude)
	}
	if rest := power(x) - got*got/2; rest > 0.01*amplitude*amplitude {
		t.Errorf("beside the tone there is power %.6f", rest)
	}
}

// testLimits take few, short windows, so that a test of a second has several.
func testLimits() preprocess.Limits {
	l := preprocess.DefaultLimits()
	l.Windows, l.Samples = 4, 8000
	return l
}

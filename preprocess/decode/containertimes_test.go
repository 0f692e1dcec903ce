//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// TestTimesAreTheFilms: of a film whose sound begins after its pictures, as where a microphone was
// turned on later, or has gaps, times in the report were those of its samples put one after another:
// who went there heard something else. Of one whose pictures begin later, theirs were off.
func TestTimesAreTheFilms(t *testing.T) {
	t.Parallel()
	const tolerance = 150 * time.Millisecond
	for name, tc := range map[string]struct {
		sound, pictures string // how their times are changed
		first, last     time.Duration
		frame, length   time.Duration
	}{
		"together":             {"anull", "null", 0, 3500 * time.Millisecond, 0, 4 * time.Second},
		"sound begins later":   {"asetpts=PTS+3/TB", "null", 3 * time.Second, 6500 * time.Millisecond, 0, 7 * time.Second},
		"a gap in the sound":   {"asetpts=PTS+gt(T\\,2)*5/TB", "null", 0, 8500 * time.Millisecond, 0, 9 * time.Second},
		"pictures begin later": {"anull", "setpts=PTS+2/TB", 0, 3500 * time.Millisecond, 2 * time.Second, 6 * time.Second},
	} {
		for ext, format := range map[string]preprocess.Format{"mkv": preprocess.Matroska, "mp4": preprocess.MP4} {
			t.Run(name+" "+ext, func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "x."+ext)
				ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x64:r=10:d=4", "-f", "lavfi", "-i", "anoisesrc=d=4:a=0.3:r=48000:seed=7",
					"-vf", tc.pictures, "-af", tc.sound, "-fps_mode", "passthrough", "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p",
					"-c:a", map[string]string{"mkv": "pcm_s16le", "mp4": "alac"}[ext], path)
				d, err := decodePath(t, path, format, testLimits())
				if err != nil {
					t.Fatal(err)
				}
				windows, frames := d.arena.Windows(), d.arena.Frames()
				for what, got := range map[string][2]time.Duration{
					"the first window":  {windows[0].At, tc.first},
					"the last window":   {windows[len(windows)-1].At, tc.last},
					"the first picture": {frames[0].At, tc.frame},
					"the end":           {d.Duration, tc.length},
				} {
					if (got[0] - got[1]).Abs() > tolerance {
						t.Errorf("%s is at %v, want %v", what, got[0], got[1])
					}
				}
			})
		}
	}
}

// TestTimesThatCannotBe: a packet of sound that claims to be heard hours later doesn't make a film
// too long, or its reply one that the server takes for nonsense.
func TestTimesThatCannotBe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mkv")
	for _, hours := range []int{1, 1000} {
		ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x64:r=10:d=4", "-f", "lavfi", "-i", "anoisesrc=d=4:a=0.3:r=48000:seed=7",
			"-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le", "-af", fmt.Sprintf("asetpts=PTS+gt(T\\,2)*3600*%d/TB", hours), path)
		if d := mustDecode(t, path, preprocess.Matroska); d.Duration > 5*time.Second {
			t.Errorf("lasts %v", d.Duration)
		}
	}
}

//go:build gocv_specific_modules

package decode

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// A film that was cut without coding anew begins with pictures that rest on others, which are not there. H.265
// and MPEG-4 are decoded all the same, on grey: faces of these were called fake, and nothing told
// that they were none.
func TestVideoWithoutItsBeginning(t *testing.T) {
	t.Parallel()
	for name, codec := range map[string][]string{
		"x.mkv": {"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=30:min-keyint=30:scenecut=0"},
		"x.mp4": {"-c:v", "mpeg4", "-q:v", "2", "-g", "30", "-sc_threshold", "1000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := encode(t, clock(t, 10), name, append(codec, "-an")...)
			cut := func(name, length string) string {
				path := filepath.Join(t.TempDir(), name)
				ffmpeg(t, "-i", whole, "-ss", "0.5", "-t", length, "-copyinkf", "-c", "copy", path)
				return path
			}
			format := map[string]preprocess.Format{"x.mkv": preprocess.Matroska, "x.mp4": preprocess.MP4}[name]
			d := mustDecode(t, cut(name, "9"), format)
			if !slices.Equal(d.Notes, []preprocess.Note{preprocess.Incomplete}) {
				t.Errorf("notes %q", d.Notes)
			}
			for i, ref := range d.arena.Frames() {
				wantCorners(t, d.pixels(t, i), [4][3]int{red, green, white, blue})
				shown := 10*time.Second*time.Duration(d.pixels(t, i).at(0.5, 0.5)[1])/255 - 3*time.Second
				if (shown - ref.At).Abs() > 500*time.Millisecond {
					t.Errorf("frame %d is said to be at %v and shows %v", i, ref.At, shown)
				}
			}
			if n := len(d.arena.Frames()); n < 10 {
				t.Errorf("%d frames", n)
			}
			_, err := decodePath(t, cut("none.mkv", "2"), preprocess.Matroska, preprocess.DefaultLimits())
			wantFault(t, err, preprocess.UnsupportedMediaType, "none of its pictures")
		})
	}
}

//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"testing"

	"deepfaked/preprocess"
)

// TestVideoInItsDeclaredColours: OpenCV before 4.13 converts every video by BT.601, so
// that the green of most films of 720 lines and more, which are in BT.709, came out 22 too
// bright, while the models had learnt from films in their own colours.
func TestVideoInItsDeclaredColours(t *testing.T) {
	t.Parallel()
	h264 := []string{"-c:v", "libx264", "-preset", "veryfast", "-crf", "12"}
	for _, tc := range []struct {
		name, file     string
		format         preprocess.Format
		matrix, extent string
		declared       []string
	}{
		{"in MP4", "a.mp4", preprocess.MP4, "bt709", "tv", []string{"-colorspace", "bt709"}},
		{"in H.264 alone, in MP4", "a.mp4", preprocess.MP4, "bt709", "tv", []string{"-colorspace", "bt709", "-movflags", "-write_colr"}},
		{"in H.264 alone, in AVI", "a.avi", preprocess.AVI, "bt709", "tv", []string{"-colorspace", "bt709"}},
		{"full range", "a.mkv", preprocess.Matroska, "bt709", "pc", []string{"-colorspace", "bt709", "-color_range", "pc"}},
		{"BT.2020", "a.mp4", preprocess.MP4, "bt2020", "tv", []string{"-colorspace", "bt2020nc"}},
		{"SMPTE 240M", "a.mp4", preprocess.MP4, "smpte240m", "tv", []string{"-colorspace", "smpte240m"}},
		{"BT.601", "a.mp4", preprocess.MP4, "bt601", "tv", []string{"-colorspace", "smpte170m"}},
		{"nothing declared", "a.mp4", preprocess.MP4, "bt601", "tv", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/" + tc.file
			graph := fmt.Sprintf("color=c=0x1EB43C:s=320x240:r=10:d=2,format=gbrp,scale=out_color_matrix=%s:out_range=%s,format=yuv420p", tc.matrix, tc.extent)
			ffmpeg(t, append(append([]string{"-f", "lavfi", "-i", graph}, h264...), append(tc.declared, path)...)...)
			d := mustDecode(t, path, tc.format)
			if got, want := d.pixels(t, 0).at(0.5, 0.5), [3]int{30, 180, 60}; !near(got, want, 4) {
				t.Errorf("the picture is %v, want %v", got, want)
			}
		})
	}
}

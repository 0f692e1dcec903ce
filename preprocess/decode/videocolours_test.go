//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// TestColoursChangeMidway: where films of two kinds were joined, the second was converted as the first
// declares: a green of 30, 180, 60 came out as 41, 202, 62.
func TestColoursChangeMidway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ first, second, formatOfFirst, rangeOfFirst string }{
		"in the middle":      {"2", "2", "yuv420p", "tv"},
		"behind an opening":  {"0.3", "20", "yuv420p", "tv"},
		"from full range on": {"2", "2", "yuvj420p", "pc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			part := func(matrix, declared, of, length, format string) []byte {
				path := filepath.Join(dir, matrix+".h264")
				graph := fmt.Sprintf("color=c=0x1EB43C:s=320x240:r=10:d=%s,format=gbrp,scale=out_color_matrix=%s:out_range=%s,format=%s", length, matrix, of, format)
				ffmpeg(t, "-f", "lavfi", "-i", graph, "-c:v", "libx264", "-preset", "veryfast", "-crf", "12", "-bf", "0",
					"-colorspace", declared, "-color_range", of, path)
				return read(t, path)
			}
			raw, path := filepath.Join(dir, "x.h264"), filepath.Join(dir, "x.mkv")
			film := append(part("bt601", "smpte170m", tc.rangeOfFirst, tc.first, tc.formatOfFirst), part("bt709", "bt709", "tv", tc.second, "yuv420p")...)
			if err := os.WriteFile(raw, film, 0o600); err != nil {
				t.Fatal(err)
			}
			ffmpeg(t, "-r", "10", "-i", raw, "-c", "copy", path)
			d := mustDecode(t, path, preprocess.Matroska)
			for i, ref := range d.arena.Frames() {
				if got, want := d.pixels(t, i).at(0.5, 0.5), [3]int{30, 180, 60}; !near(got, want, 4) {
					t.Errorf("the picture at %v is %v, want %v", ref.At, got, want)
				}
			}
		})
	}
}

// TestRangeChangesMidway: pictures of 10 bits do not tell their range by their format. Where films of two ranges were
// joined, the second was converted by that of the first, and was too dull or too harsh.
func TestRangeChangesMidway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ext   string
		codec []string
	}{
		"H.264": {"h264", []string{"-c:v", "libx264", "-preset", "veryfast", "-crf", "12", "-bf", "0"}},
		"H.265": {"hevc", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none:bframes=0"}},
	} {
		for _, ranges := range [][2]string{{"tv", "pc"}, {"pc", "tv"}} {
			t.Run(fmt.Sprintf("%s from %s to %s", name, ranges[0], ranges[1]), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var film []byte
				for _, of := range ranges {
					path := filepath.Join(dir, of+"."+tc.ext)
					graph := fmt.Sprintf("color=c=0x1EB43C:s=320x240:r=10:d=2,format=gbrp,scale=out_color_matrix=bt709:out_range=%s,format=yuv420p10le", of)
					ffmpeg(t, slices.Concat([]string{"-f", "lavfi", "-i", graph}, tc.codec, []string{"-colorspace", "bt709", "-color_range", of, path})...)
					film = append(film, read(t, path)...)
				}
				raw, path := filepath.Join(dir, "x."+tc.ext), filepath.Join(dir, "x.mkv")
				if err := os.WriteFile(raw, film, 0o600); err != nil {
					t.Fatal(err)
				}
				ffmpeg(t, "-r", "10", "-i", raw, "-c", "copy", path)
				d := mustDecode(t, path, preprocess.Matroska)
				frames := d.arena.Frames()
				if last := frames[len(frames)-1].At.Seconds(); last < 3 {
					t.Errorf("the last picture is at %.1f s", last)
				}
				for i, ref := range frames {
					if got, want := d.pixels(t, i).at(0.5, 0.5), [3]int{30, 180, 60}; !near(got, want, 4) {
						t.Errorf("the picture at %v is %v, want %v", ref.At, got, want)
					}
				}
			})
		}
	}
}

// TestVideoInItsDeclaredRange: OpenCV tells full range by the pixel format, and only H.264
// and H.265 of 8 bits and MJPEG have one of their own for it. Others that declare full
// range, as cameras' films in 10 bits and recordings of screens in VP9 do, were stretched by
// it once more: a green of 30, 180, 60 came out as 17, 189, 53.
func TestVideoInItsDeclaredRange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file string
		format     preprocess.Format
		pixels     string
		codec      []string
	}{
		{"H.264 of 10 bits", "a.mp4", preprocess.MP4, "yuv420p10le", []string{"-c:v", "libx264", "-preset", "veryfast", "-crf", "12"}},
		{"H.265 of 10 bits", "a.mp4", preprocess.MP4, "yuv420p10le", []string{"-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"}},
		{"VP9", "a.webm", preprocess.WebM, "yuv420p", []string{"-c:v", "libvpx-vp9", "-cpu-used", "8"}},
		{"AV1", "a.mp4", preprocess.MP4, "yuv420p", []string{"-c:v", "libaom-av1", "-usage", "realtime", "-cpu-used", "8"}},
	} {
		for _, matrix := range []string{"bt709", "unknown"} {
			t.Run(tc.name+" of matrix "+matrix, func(t *testing.T) {
				t.Parallel()
				coded := map[string]string{"bt709": "bt709", "unknown": "bt601"}[matrix]
				path := t.TempDir() + "/" + tc.file
				graph := fmt.Sprintf("color=c=0x1EB43C:s=320x240:r=10:d=1,format=gbrp,scale=out_color_matrix=%s:out_range=pc,format=%s,setparams=colorspace=%s",
					coded, tc.pixels, matrix)
				args := append([]string{"-f", "lavfi", "-i", graph, "-color_range", "pc", "-colorspace", matrix}, tc.codec...)
				ffmpeg(t, append(args, path)...)
				d := mustDecode(t, path, tc.format)
				if got, want := d.pixels(t, 0).at(0.5, 0.5), [3]int{30, 180, 60}; !near(got, want, 4) {
					t.Errorf("the picture is %v, want %v", got, want)
				}
			})
		}
	}
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"path/filepath"
	"testing"

	"deepfaked/preprocess"
)

// TestForeignCodecs: a codec that is not on the list is not tried.
func TestForeignCodecs(t *testing.T) {
	t.Parallel()
	master := clock(t, 1)
	_, err := decodePath(t, encode(t, master, "x.mkv", "-an", "-c:v", "ffv1"), preprocess.Matroska, preprocess.DefaultLimits())
	wantCode(t, err, preprocess.UnsupportedMediaType, "MKV", "ffv1")
	_, err = decodePath(t, encode(t, master, "x.mka", "-vn", "-c:a", "wavpack"), preprocess.Matroska, preprocess.DefaultLimits())
	wantCode(t, err, preprocess.UnsupportedMediaType, "wavpack")
}

// TestVideoIsNotJudgedByItsSound: films whose pictures could not be decoded were
// reported as sound, with a verdict on that alone. Only a file without a stream
// of video is sound.
func TestVideoIsNotJudgedByItsSound(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	mp4 := read(t, encode(t, master, "x.mp4", "-c:v", "libx264", "-c:a", "aac"))
	avcC := bytes.Clone(mp4)
	clear(avcC[box(t, avcC, "avcC"):][:40])
	noise := bytes.Clone(mp4)
	for i := box(t, noise, "mdat"); i < box(t, noise, "moov")-8; i++ {
		noise[i] = byte(i*i*7 + i>>3)
	}
	avi := read(t, encode(t, master, "x.avi", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "pcm_s16le"))
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
		words  []string
	}{
		"FFV1":              {read(t, master), preprocess.Matroska, []string{"MKV", "codec ffv1"}},
		"ProRes":            {read(t, encode(t, master, "x.mov", "-c:v", "prores", "-pix_fmt", "yuv422p10le", "-c:a", "aac")), preprocess.MOV, []string{"codec prores"}},
		"H.263":             {read(t, encode(t, master, "x.3gp", "-s", "176x144", "-r", "30", "-c:v", "h263", "-c:a", "aac")), preprocess.ThreeGP, []string{"codec h263"}},
		"MPEG-2":            {read(t, encode(t, master, "x.mkv", "-r", "25", "-c:v", "mpeg2video", "-c:a", "aac")), preprocess.Matroska, []string{"codec mpeg2video"}},
		"damaged avcC":      {avcC, preprocess.MP4, []string{"MP4", "pictures, coded in h264", "damaged"}},
		"damaged pictures":  {spoiled(avi, 0, 99), preprocess.AVI, []string{"pictures, coded in mjpeg", "damaged"}},
		"everything damage": {noise, preprocess.MP4, []string{"pictures, coded in h264", "damaged"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeBytes(t, tc.file, tc.format, preprocess.DefaultLimits())
			wantCode(t, err, preprocess.UnsupportedMediaType, tc.words...)
		})
	}
}

// TestStreamsThatCanBeDecodedAreFound: neither a cover nor a stream in a foreign
// codec hides the pictures that can be judged.
func TestStreamsThatCanBeDecodedAreFound(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	path := filepath.Join(t.TempDir(), "two.mkv")
	ffmpeg(t, "-i", master, "-map", "0:v", "-map", "0:v", "-map", "0:a", "-pix_fmt", "yuv420p", "-c:v:0", "ffv1", "-c:v:1", "libx264", path)
	if d := mustDecode(t, path, preprocess.Matroska); d.Kind != preprocess.Video || len(d.arena.Frames()) != 16 {
		t.Errorf("behind a foreign codec: %+v, %d frames", d.Found, len(d.arena.Frames()))
	}
	dir := t.TempDir()
	cover, path := filepath.Join(dir, "cover.png"), filepath.Join(dir, "covered.mp4")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=640x480:d=1", "-frames:v", "1", cover)
	ffmpeg(t, "-i", cover, "-i", master, "-map", "0:v", "-map", "1", "-pix_fmt", "yuv420p", "-c:v:0", "png", "-disposition:v:0", "attached_pic",
		"-c:v:1", "libx264", "-disposition:v:1", "0", "-c:a", "aac", path)
	if d := mustDecode(t, path, preprocess.MP4); d.Kind != preprocess.Video || d.Width != 160 || len(d.arena.Frames()) != 16 {
		t.Errorf("beside a cover: %+v, %d frames", d.Found, len(d.arena.Frames()))
	}
}

// TestSoundThatCanBeDecodedIsFound: sound in a foreign codec hid other sound in the
// file, as in films with several: it was refused, or judged by its pictures alone.
func TestSoundThatCanBeDecodedIsFound(t *testing.T) {
	t.Parallel()
	dir, master := t.TempDir(), clock(t, 2)
	for name, pictures := range map[string][]string{"film.mkv": {"-map", "0:v", "-c:v", "libx264", "-pix_fmt", "yuv420p"}, "sound.mka": nil} {
		path := filepath.Join(dir, name)
		args := append([]string{"-i", master, "-map", "0:a", "-map", "0:a", "-c:a:0", "wavpack", "-c:a:1", "aac"}, pictures...)
		ffmpeg(t, append(args, path)...)
		if d := mustDecode(t, path, preprocess.Matroska); len(d.arena.Windows()) == 0 {
			t.Errorf("%s: %+v without sound", name, d.Found)
		}
	}
}

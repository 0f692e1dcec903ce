//go:build gocv_specific_modules

package main

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"deepfaked/models"
)

// sample is a file, and what must be found in it.
type sample struct {
	content       []byte // if nil, what ffmpeg makes of args
	file, args    string
	turned        bool
	kind          string
	format        string
	width, height int     // upright; 0: not checked
	frames        int     // at least; 0: none
	windows       int     // at least; 0: none
	seconds       float64 // 0: not checked
}

// bytes is the file itself.
func (s sample) bytes(t testing.TB) []byte {
	t.Helper()
	content := s.content
	if content == nil {
		content = ffmpeg(t, s.file, s.args)
	}
	if s.turned {
		return turned(t, content)
	}
	return content
}

// roomy lifts what the matrix would run into, and puts limits on what a file
// may be low enough for small files to pass them.
const roomy = `
plans:
  free: {requests_per_minute: 100000}
  starter: {requests_per_minute: 100000, scans: 2}
  pro: {requests_per_minute: 100000}
unauthenticated: {requests_per_minute: 100000}
upload: {size: 8MiB}
limits: {pixels: 2100000, duration: 60s, streams: 8}
jobs: {workers: 1}
`

// TestService puts everything that clients can do to one server.
func TestService(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	s := serve(t, roomy)
	s.logs.await(t, ready)
	t.Run("images", func(t *testing.T) { s.judge(t, images(t)) })
	t.Run("sounds", func(t *testing.T) { s.judge(t, sounds(t)) })
	t.Run("videos", func(t *testing.T) { s.judge(t, videos()) })
	t.Run("damage", s.testDamage)
	t.Run("contract", s.testContract)
	t.Run("real media", s.testRealMedia)
	t.Run("faces", s.testFaces)
	t.Run("keys", s.testKeys)
	t.Run("client gone", s.testClientGone)
	t.Run("killed decoder", s.testKilledDecoder)
}

// judge submits each sample and looks at result and report.
func (s *instance) judge(t *testing.T, samples map[string]sample) {
	t.Helper()
	key := newKey(t, s.data, "matrix-"+t.Name()[len("TestService/"):], "pro")
	for name, want := range samples {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := s.detect(t, key, want.bytes(t), "media_type", want.kind).judged(t)
			assert.Equal(t, want.kind, got.body["media_type"])
			r := s.report(t, key, got.id())
			assert.Equal(t, want.format, r.Format)
			if want.width > 0 {
				assert.Equal(t, [2]int{want.width, want.height}, [2]int{r.Width, r.Height})
			}
			if want.seconds > 0 {
				assert.InDelta(t, want.seconds, r.DurationSeconds, 0.3, "length")
			}
			spread(t, times(r, models.ImageSynthesis), want.frames, r.DurationSeconds)
			spread(t, times(r, models.SpeechSynthesis), want.windows, r.DurationSeconds)
		})
	}
}

// spread checks that at least n pieces were judged, each at another time, in
// order, and over the whole length.
func spread(t *testing.T, at []float64, n int, length float64) {
	t.Helper()
	require.GreaterOrEqual(t, len(at), n)
	if n == 0 {
		require.Empty(t, at)
	}
	if n < 2 {
		return
	}
	for i := 1; i < len(at); i++ {
		assert.Greater(t, at[i], at[i-1])
	}
	share := length / float64(len(at))
	assert.Less(t, at[0], 1.5*share, "the first of %v", at)
	assert.Greater(t, at[len(at)-1], length-4-1.5*share, "the last of %v", at) // a window lasts four seconds
}

func images(t testing.TB) map[string]sample {
	t.Helper()
	img := picture(160, 120)
	grey, deep := image.NewGray(img.Rect), image.NewNRGBA64(img.Rect)
	few := image.NewPaletted(img.Rect, color.Palette{color.Black, color.White, color.NRGBA{200, 40, 90, 255}})
	clear := image.NewNRGBA(img.Rect)
	for y := range 120 {
		for x := range 160 {
			grey.Set(x, y, img.At(x, y))
			deep.Set(x, y, img.At(x, y))
			few.SetColorIndex(x, y, uint8((x/20+y/20)%3))
			clear.SetNRGBA(x, y, color.NRGBA{uint8(x), uint8(y), 90, uint8(x + y)})
		}
	}
	byGo := func(format string, encode func(*bytes.Buffer) error) sample {
		return sample{content: encoded(t, encode), kind: "image", format: format, width: 160, height: 120, frames: 1}
	}
	byFFmpeg := func(format, name, args string, frames int, seconds float64) sample {
		return sample{file: name, args: args, kind: "image", format: format, width: 176, height: 144, frames: frames, seconds: seconds}
	}
	file := func(format, name string, w, h int) sample {
		return sample{content: drawn(t, name), kind: "image", format: format, width: w, height: h, frames: 1}
	}
	return map[string]sample{
		"JPEG":             byGo("JPEG", func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) }),
		"JPEG grey":        byGo("JPEG", func(b *bytes.Buffer) error { return jpeg.Encode(b, grey, nil) }),
		"JPEG progressive": file("JPEG", "progressive.jpg", 96, 64),
		"JPEG CMYK, Adobe": file("JPEG", "cmyk-adobe.jpg", 96, 64),
		"JPEG CMYK, plain": file("JPEG", "cmyk-plain.jpg", 96, 64),
		"JPEG turned":      file("JPEG", "orientation6.jpg", 96, 64),
		"PNG":              byGo("PNG", func(b *bytes.Buffer) error { return png.Encode(b, img) }),
		"PNG 16-bit":       byGo("PNG", func(b *bytes.Buffer) error { return png.Encode(b, deep) }),
		"PNG palette":      byGo("PNG", func(b *bytes.Buffer) error { return png.Encode(b, few) }),
		"PNG alpha":        byGo("PNG", func(b *bytes.Buffer) error { return png.Encode(b, clear) }),
		"PNG grey":         byGo("PNG", func(b *bytes.Buffer) error { return png.Encode(b, grey) }),
		"PNG animated":     byFFmpeg("PNG", "x.png", scene+"-c:v apng -f apng", 16, 6),
		"WebP":             byFFmpeg("WebP", "x.webp", scene+"-frames:v 1 -c:v libwebp", 1, 0),
		"WebP lossless":    byFFmpeg("WebP", "x.webp", scene+"-frames:v 1 -c:v libwebp -lossless 1", 1, 0),
		"WebP animated":    byFFmpeg("WebP", "x.webp", scene+"-c:v libwebp_anim", 16, 6),
		"GIF":              byGo("GIF", func(b *bytes.Buffer) error { return gif.Encode(b, few, nil) }),
		"GIF animated":     {content: animatedGIF(t, 40, 10), kind: "image", format: "GIF", width: 96, height: 64, frames: 16, seconds: 4},
		"BMP":              byGo("BMP", func(b *bytes.Buffer) error { return bmp.Encode(b, img) }),
		"TIFF":             byGo("TIFF", func(b *bytes.Buffer) error { return tiff.Encode(b, img, nil) }),
		"TIFF deflated":    byGo("TIFF", func(b *bytes.Buffer) error { return tiff.Encode(b, img, &tiff.Options{Compression: tiff.Deflate}) }),
		"TIFF CMYK":        file("TIFF", "cmyk.tiff", 96, 64),
		"TIFF LZW":         file("TIFF", "lzw.tiff", 96, 64),
		"HEIC":             file("HEIC", "orientation1.heic", 192, 128),
		"HEIC turned":      file("HEIC", "orientation6.heic", 192, 128),
		"HEIC 10-bit":      file("HEIC", "deep.heic", 0, 0),
		"HEIC grey":        file("HEIC", "grey.heic", 0, 0),
		"AVIF":             file("AVIF", "orientation1.avif", 96, 64),
		"AVIF turned":      file("AVIF", "orientation6.avif", 96, 64),
		"AVIF deep":        file("AVIF", "deep.avif", 0, 0),
	}
}

func sounds(t testing.TB) map[string]sample {
	t.Helper()
	speech := voice(t)
	list := map[string]sample{
		"AMR":    {content: drawn(t, "tone.amr"), kind: "audio", format: "AMR"}, // nobody speaks
		"AMR-WB": {content: drawn(t, "tone-wb.amr"), kind: "audio", format: "AMR-WB"},
	}
	for name, made := range map[string][3]string{
		"WAV 8-bit":         {"WAV", "x.wav", "-c:a pcm_u8"},
		"WAV 16-bit":        {"WAV", "x.wav", "-c:a pcm_s16le"},
		"WAV 24-bit":        {"WAV", "x.wav", "-c:a pcm_s24le"},
		"WAV 32-bit":        {"WAV", "x.wav", "-c:a pcm_s32le"},
		"WAV float":         {"WAV", "x.wav", "-c:a pcm_f32le"},
		"WAV double":        {"WAV", "x.wav", "-c:a pcm_f64le"},
		"WAV A-law":         {"WAV", "x.wav", "-c:a pcm_alaw -ar 8000"},
		"WAV mu-law":        {"WAV", "x.wav", "-c:a pcm_mulaw -ar 8000"},
		"WAV extensible":    {"WAV", "x.wav", "-c:a pcm_s24le -ar 48000 -ac 6"},
		"WAV stereo, 44.1":  {"WAV", "x.wav", "-c:a pcm_s16le -ar 44100 -ac 2"},
		"WAV 11.025 kHz":    {"WAV", "x.wav", "-c:a pcm_s16le -ar 11025"},
		"WAV 96 kHz":        {"WAV", "x.wav", "-c:a pcm_s24le -ar 96000 -ac 2"},
		"WAV of 64 bits":    {"WAV", "x.wav", "-c:a pcm_s16le -rf64 always"},
		"MP3":               {"MP3", "x.mp3", "-c:a libmp3lame"},
		"MP3 without a tag": {"MP3", "x.mp3", "-c:a libmp3lame -write_xing 0 -id3v2_version 0"},
		"AAC":               {"AAC", "x.aac", "-c:a aac"},
		"M4A":               {"M4A", "x.m4a", "-c:a aac"},
		"M4A lossless":      {"M4A", "x.m4a", "-c:a alac"},
		"FLAC":              {"FLAC", "x.flac", "-c:a flac"},
		"OGG Vorbis":        {"OGG", "x.ogg", "-c:a libvorbis"},
		"OGG Opus":          {"OGG", "x.opus", "-c:a libopus"},
		"MP4 of sound":      {"MP4", "x.mp4", "-c:a aac"},
		"WebM of sound":     {"WebM", "x.webm", "-c:a libopus"},
		"MKV of sound":      {"MKV", "x.mka", "-c:a libvorbis"},
	} {
		list[name] = sample{file: made[1], args: "-i " + speech + " " + made[2], kind: "audio", format: made[0], windows: 2}
	}
	return list
}

func videos() map[string]sample {
	const (
		h264  = "-c:v libx264 -preset veryfast "
		h265  = "-c:v libx265 -preset ultrafast -x265-params log-level=none "
		vp8   = "-c:v libvpx -deadline realtime -cpu-used 8 "
		vp9   = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 "
		mpeg4 = "-c:v mpeg4 "
		mjpeg = "-c:v mjpeg -pix_fmt yuvj420p "
	)
	list := map[string]sample{}
	for name, made := range map[string]struct{ format, file, video, sound string }{
		"MP4 H.264":          {"MP4", "x.mp4", h264, "aac"},
		"MP4 H.264, silent":  {"MP4", "x.mp4", h264, ""},
		"MP4 H.265":          {"MP4", "x.mp4", h265, "aac"},
		"MP4 H.265 10-bit":   {"MP4", "x.mp4", h265 + "-pix_fmt yuv420p10le -tag:v hvc1 ", ""},
		"MP4 MPEG-4":         {"MP4", "x.mp4", mpeg4, "aac"},
		"MP4 VP9":            {"MP4", "x.mp4", vp9, "libopus"},
		"MP4 in fragments":   {"MP4", "x.mp4", h264 + "-movflags frag_keyframe+empty_moov -g 20 ", "aac"},
		"MOV H.264":          {"MOV", "x.mov", h264, "aac"},
		"MOV H.265":          {"MOV", "x.mov", h265 + "-tag:v hvc1 ", "pcm_s16le"},
		"MOV MJPEG, silent":  {"MOV", "x.mov", mjpeg, ""},
		"MKV H.264":          {"MKV", "x.mkv", h264, "libvorbis"},
		"MKV H.265, silent":  {"MKV", "x.mkv", h265, ""},
		"MKV VP8":            {"MKV", "x.mkv", vp8, "libopus"},
		"MKV MPEG-4":         {"MKV", "x.mkv", mpeg4, "libmp3lame"},
		"MKV MJPEG":          {"MKV", "x.mkv", mjpeg, "flac"},
		"WebM VP8":           {"WebM", "x.webm", vp8, "libvorbis"},
		"WebM VP9":           {"WebM", "x.webm", vp9, "libopus"},
		"WebM VP9, silent":   {"WebM", "x.webm", vp9, ""},
		"WebM, a live one":   {"WebM", "x.webm", vp8 + "-live 1 ", "libopus"},
		"AVI MPEG-4":         {"AVI", "x.avi", mpeg4, "libmp3lame"},
		"AVI MJPEG, silent":  {"AVI", "x.avi", mjpeg, ""},
		"AVI H.264":          {"AVI", "x.avi", h264, "pcm_s16le"},
		"variable rate, MP4": {"MP4", "x.mp4", "-vf select='lt(t,2)+not(mod(n,3))' -fps_mode vfr " + h264, "aac"},
		"variable rate, MKV": {"MKV", "x.mkv", "-vf select='lt(t,2)+not(mod(n,3))' -fps_mode vfr " + vp8, ""},
	} {
		args, windows := scene+"-an "+made.video, 0
		if made.sound != "" {
			args, windows = scene+spoken+made.video+"-c:a "+made.sound, 2
		}
		list[name] = sample{file: made.file, args: args, kind: "video", format: made.format,
			width: 176, height: 144, frames: 14, windows: windows, seconds: 6}
	}
	list["MP4 turned"] = sample{file: "x.mp4", args: scene + "-an " + h264, turned: true, kind: "video", format: "MP4",
		width: 144, height: 176, frames: 14, seconds: 6}
	return list
}

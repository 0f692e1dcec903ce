package preprocess

import (
	"strings"
	"testing"
)

// Voice messages, small sounds and still pictures of any size always find a child that has none
// of the others.
func TestWhatIsLengthy(t *testing.T) {
	t.Parallel()
	const (
		page          = "OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x8e\xb6\x2a\x9d\x01"
		webp, png     = "RIFF\x00\x00\x00\x00WEBPVP8X", "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
		small, large  = 500_000, 60_000_000
		never, always = 1 << 40, 0
	)
	for name, test := range map[string]struct {
		head   string
		format Format
		from   int64 // bytes
	}{
		"JPEG":             {"\xff\xd8\xff", JPEG, never},
		"BMP":              {"BM", BMP, never},
		"TIFF":             {"II*\x00", TIFF, never},
		"PNG":              {png, PNG, never},
		"PNG, animated":    {png + "\x00\x00\x00\x08acTL", PNG, large},
		"WebP":             {webp, WebP, never},
		"WebP, animated":   {webp + "\x0a\x00\x00\x00\x02\x00\x00\x00.........ANIM", WebP, large},
		"GIF":              {"GIF89a", GIF, large},
		"HEIC":             {"", HEIC, always},
		"AVIF":             {"", AVIF, always},
		"WAV":              {"RIFF\x00\x00\x00\x00WAVE", WAV, large},
		"FLAC":             {"fLaC", FLAC, large},
		"MP3":              {"ID3", MP3, large},
		"AMR":              {"#!AMR\n", AMR, large},
		"a voice in M4A":   {"", M4A, large},
		"a voice in Opus":  {page + "\x13OpusHead", OGG, large},
		"a film in Theora": {page + "\x2a\x80theora", OGG, always},
		"MP4":              {"", MP4, always},
		"WebM":             {"", WebM, always},
	} {
		for _, size := range []int64{small, large} {
			if got := lengthy(strings.NewReader(test.head), size, test.format); got != (size >= test.from) {
				t.Errorf("%s of %d bytes: %v", name, size, got)
			}
		}
	}
}

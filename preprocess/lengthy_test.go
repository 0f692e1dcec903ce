package preprocess

import (
	"encoding/binary"
	"slices"
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
			if got := lengthy(strings.NewReader(test.head), DecodeRequest{Format: test.format, Size: size, Limits: DefaultLimits()}); got != (size >= test.from) {
				t.Errorf("%s of %d bytes: %v", name, size, got)
			}
		}
	}
}

// TestSmallFilesThatTakeLong: some kilobytes that stand for as many pixels or samples as are allowed passed for
// a small sound or picture. Two of them had both decoders of two cores for up to 20 s, and others waited.
func TestSmallFilesThatTakeLong(t *testing.T) {
	t.Parallel()
	const few, many = 10, 100
	repeated := func(head, frame string, n int) string { return head + strings.Repeat(frame, n) }
	side := func(n uint16) string { return string(binary.LittleEndian.AppendUint16(nil, n)) }
	gif := func(n int, screen, frame uint16) string {
		return repeated("GIF89a"+side(screen)+side(screen)+"\x00\x00\x00", "\x2c\x00\x00\x00\x00"+side(frame)+side(frame)+"\x00\x02\x02\x44\x01\x00", n)
	}
	webp := func(n int) string {
		const size = "\xe7\x03\x00" // a thousand
		chunks := repeated("VP8X\x0a\x00\x00\x00\x02\x00\x00\x00"+size+size+"ANIM\x06\x00\x00\x00......",
			"ANMF\x1e\x00\x00\x00\x00\x00\x00\x00\x00\x00"+size+size+"\x64\x00\x00\x00VP8L\x05\x00\x00\x00/\xe7\xc3\xf9\x00\x00", n)
		return "RIFF" + string(binary.LittleEndian.AppendUint32(nil, uint32(4+len(chunks)))) + "WEBP" + chunks
	}
	chunk := func(kind, body string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + kind + body + "...."
	}
	const thousand = "\x00\x00\x03\xe8"
	png := func(n int) string {
		control := chunk("fcTL", "...."+thousand+thousand+string(make([]byte, 14)))
		return repeated("\x89PNG\r\n\x1a\n"+chunk("IHDR", thousand+thousand+"\x08\x00\x00\x00\x00")+chunk("acTL", thousand+"....")+
			control+chunk("IDAT", "."), control+chunk("fdAT", "....."), n-1)
	}
	flac := func(channels, samples uint64) string {
		facts := binary.BigEndian.AppendUint64(nil, 44100<<44|(channels-1)<<41|15<<36|samples)
		return "fLaC\x00\x00\x00\x22" + string(slices.Concat(make([]byte, 10), facts, make([]byte, 16)))
	}
	tag := "ID3\x04\x00\x00\x00\x00\x00\x05....."
	for name, test := range map[string]struct {
		file   string
		format Format
		want   bool
	}{
		"GIF":                        {gif(few, 1000, 1000), GIF, false},
		"GIF of many pixels":         {gif(many, 1000, 1000), GIF, true},
		"GIF of a large screen":      {gif(few, 4000, 10), GIF, true},
		"WebP":                       {webp(few), WebP, false},
		"WebP of many pixels":        {webp(many), WebP, true},
		"PNG":                        {png(few), PNG, false},
		"PNG of many pixels":         {png(many), PNG, true},
		"FLAC":                       {flac(2, 60*44100), FLAC, false},
		"FLAC of hours":              {flac(1, 2*3600*44100), FLAC, true},
		"FLAC of many channels":      {flac(8, 600*44100), FLAC, true},
		"FLAC of any length":         {flac(2, 0), FLAC, true},
		"FLAC of hours behind a tag": {tag + flac(1, 2*3600*44100), FLAC, true},
		"FLAC behind a tag":          {tag + flac(2, 60*44100), FLAC, false},
	} {
		req := DecodeRequest{Format: test.format, Size: int64(len(test.file)), Limits: DefaultLimits()}
		if got := lengthy(strings.NewReader(test.file), req); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

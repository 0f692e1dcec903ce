//go:build gocv_specific_modules

package main

import (
	"bytes"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// refusal is a file that can't be judged, and the answer.
type refusal struct {
	file   []byte
	fields []string
	status int
	code   string
	words  []string // of the sentence
}

// testDamage: what is not media, is damaged, empty, too large or too long gets
// the contract's error with a sentence that says which, and costs nothing.
func (s *instance) testDamage(t *testing.T) {
	key := newKey(t, s.data, "damage", "pro")
	for name, list := range map[string]map[string]refusal{
		"not media": notMedia(), "damaged": damaged(t), "too much": tooMuch(t), "declared otherwise": declaredOtherwise(t),
	} {
		t.Run(name, func(t *testing.T) {
			for name, want := range list {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					message := s.detect(t, key, want.file, want.fields...).want(t, want.status, want.code)
					for _, w := range want.words {
						assert.Contains(t, message, w)
					}
				})
			}
		})
	}
	used := s.get(t, key, "/v1/usage").fields(t, 200, "plan", "scans_used", "scans_limit", "scans_remaining", "period_start")
	assert.Zero(t, used.body["scans_used"], "failures cost nothing")
}

func notMedia() map[string]refusal {
	list := map[string]refusal{"empty": {nil, nil, 400, "empty_file", []string{"empty"}}}
	for name, content := range map[string]string{
		"text":       strings.Repeat("This is a sentence, not a picture. ", 100),
		"one byte":   "x",
		"zeroes":     strings.Repeat("\x00", 5000),
		"ZIP":        "PK\x03\x04" + strings.Repeat("\x01\x02", 500),
		"PDF":        "%PDF-1.7\n" + strings.Repeat("obj ", 500),
		"ELF":        "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 500),
		"SVG":        `<svg xmlns="http://www.w3.org/2000/svg"><rect width="9" height="9"/></svg>`,
		"HLS":        "#EXTM3U\n#EXTINF:2,\n/etc/passwd\n#EXT-X-ENDLIST\n",
		"concat":     "ffconcat version 1.0\nfile '/etc/passwd'\n",
		"JPEG 2000":  "\x00\x00\x00\x0cjP  \r\n\x87\n" + strings.Repeat("\x00", 500),
		"MIDI":       "MThd\x00\x00\x00\x06\x00\x01\x00\x01\x00\x60MTrk",
		"SoundFont":  "RIFF\x24\x00\x00\x00sfbk" + strings.Repeat("\x00", 50),
		"other EBML": "\x1a\x45\xdf\xa3\x9f\x42\x82\x84nope" + strings.Repeat("\x00", 50),
	} {
		list[name] = refusal{[]byte(content), nil, 415, "unsupported_media_type", []string{"not of a known"}}
	}
	return list
}

// half is what is left of an interrupted transfer.
func half(b []byte) []byte { return b[:len(b)/2] }

func damaged(t *testing.T) map[string]refusal {
	t.Helper()
	img := picture(160, 120)
	jpg := encoded(t, func(b *bytes.Buffer) error { return jpeg.Encode(b, img, nil) })
	pic := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, img) })
	broken := bytes.Clone(pic)
	copy(broken[len(broken)/2:], "broken here")
	mp4 := ffmpeg(t, "x.mp4", scene+tone+"-c:v libx264 -preset veryfast -c:a aac")
	blind := bytes.Clone(mp4)
	copy(blind[bytes.Index(blind, []byte("moov")):], "junk")
	list := map[string]refusal{}
	for name, c := range map[string]struct {
		file   []byte
		format string
		words  []string
	}{
		"JPEG, only the magic": {jpg[:3], "JPEG", nil},
		"JPEG, headers only":   {jpg[:300], "JPEG", nil},
		"JPEG, half":           {half(jpg), "JPEG", nil},
		"PNG, half":            {half(pic), "PNG", nil},
		"PNG, overwritten":     {broken, "PNG", nil},
		"WebP, half":           {half(drawn(t, "orientation1.webp")), "WebP", nil},
		"GIF, half":            {half(animatedGIF(t, 8, 10)), "GIF", nil},
		"TIFF, half":           {half(drawn(t, "raw.tiff")), "TIFF", nil},
		"BMP, header only":     {[]byte("BM\x46\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), "BMP", nil},
		"HEIC, half":           {half(drawn(t, "orientation1.heic")), "HEIC", nil},
		"AVIF, half":           {half(drawn(t, "orientation1.avif")), "AVIF", nil},
		"MP4, cut off":         {half(mp4), "MP4", nil},
		"MP4 without an index": {blind, "MP4", nil},
		"MP4, only ftyp":       {mp4[:32], "MP4", nil},
		"WAV without sound":    {hum(0), "WAV", []string{"no sound"}},
		"WAV, a moment":        {hum(1)[:44+100], "WAV", []string{"0.5 seconds"}},
		"WAV of MP3":           {ffmpeg(t, "x.wav", tone+"-c:a libmp3lame"), "WAV", []string{"0x0055", "PCM"}},
		"MP3 of noise":         {append([]byte("ID3\x04\x00\x00\x00\x00\x00\x0a"), bytes.Repeat([]byte{0x55}, 5000)...), "MP3", nil},
		"OGG of nothing":       {append([]byte("OggS\x00\x02"), make([]byte, 500)...), "OGG", nil},
		"FLAC of nothing":      {append([]byte("fLaC\x00\x00\x00\x22"), make([]byte, 500)...), "FLAC", nil},
		"MKV of FFV1":          {ffmpeg(t, "x.mkv", scene+"-frames:v 5 -c:v ffv1"), "MKV", []string{"ffv1", "codec"}},
		"MKV of subtitles":     {ffmpeg(t, "x.mkv", "-i "+write(t, "x.srt", []byte("1\n00:00:00,000 --> 00:00:02,000\nHello\n"))), "MKV", []string{"neither"}},
		"narrow HEIC":          {drawn(t, "narrow.heic"), "HEIC", []string{"128"}},
	} {
		list[name] = refusal{c.file, nil, 415, "unsupported_media_type", append(c.words, c.format)}
	}
	return list
}

func tooMuch(t *testing.T) map[string]refusal {
	t.Helper()
	wide := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(1500, 1401)) })
	claims := bytes.Clone(wide)
	copy(claims[16:], "\x7f\xff\xff\xff\x7f\xff\xff\xff") // of IHDR; nothing else fits it
	many := "-f lavfi -i anullsrc=r=8000:d=1 -c:a pcm_s16le" + strings.Repeat(" -map 0:a", 9)
	long := "-f lavfi -i testsrc=s=64x48:r=1:d=65 -c:v mpeg4"
	list := map[string]refusal{}
	for name, c := range map[string]struct {
		file  []byte
		words []string
	}{
		"bytes":              {make([]byte, 8<<20+1), []string{"8388608 bytes"}},
		"pixels":             {wide, []string{"1500 by 1401", "2100000"}},
		"pixels claimed":     {claims, []string{"2147483647 by 2147483647", "2100000"}},
		"pixels of GIF":      {[]byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;"), []string{"65535 by 65535"}},
		"pixels of video":    {ffmpeg(t, "x.mp4", "-f lavfi -i testsrc=s=1600x1400:r=1:d=1 -c:v mpeg4"), []string{"1600 by 1400", "2100000"}},
		"length of WAV":      {hum(61), []string{"1m1s", "1m0s"}},
		"length of MP3":      {ffmpeg(t, "x.mp3", "-f lavfi -i anullsrc=r=16000:d=62 -c:a libmp3lame"), []string{"at most 1m0s"}},
		"length of video":    {ffmpeg(t, "x.mkv", long), []string{"at most 1m0s"}},
		"length of MP4":      {ffmpeg(t, "x.mp4", long), []string{"at most 1m0s"}},
		"length of GIF":      {animatedGIF(t, 8, 1000), []string{"1m20s", "1m0s"}},
		"streams":            {ffmpeg(t, "x.mka", many), []string{"9 streams", "at most 8"}},
		"bytes before media": {append([]byte("not media"), make([]byte, 8<<20)...), []string{"8388608 bytes"}},
	} {
		list[name] = refusal{c.file, nil, 413, "payload_too_large", c.words}
	}
	return list
}

func declaredOtherwise(t *testing.T) map[string]refusal {
	t.Helper()
	pic := encoded(t, func(b *bytes.Buffer) error { return png.Encode(b, picture(160, 120)) })
	film := ffmpeg(t, "x.mp4", scene+tone+"-c:v libx264 -preset veryfast -c:a aac")
	soundOnly := ffmpeg(t, "x.mp4", tone+"-c:a aac")
	require.NotEmpty(t, soundOnly)
	list := map[string]refusal{}
	for name, c := range map[string]struct {
		file            []byte
		declared, found string
	}{
		"picture as video":      {pic, "video", "image"},
		"picture as sound":      {pic, "audio", "image"},
		"animation as video":    {animatedGIF(t, 8, 10), "video", "image"},
		"sound as picture":      {hum(1), "image", "audio"},
		"sound in MP4 as video": {soundOnly, "video", "audio"},
		"video as sound":        {film, "audio", "video"},
		"video as picture":      {film, "image", "video"},
	} {
		list[name] = refusal{c.file, []string{"media_type", c.declared}, 415, "content_type_mismatch", []string{c.declared, c.found, "media_type"}}
	}
	list["bad media_type"] = refusal{pic, []string{"media_type", "picture"}, 400, "invalid_request", []string{"media_type", "image, audio or video"}}
	list["bad sensitivity"] = refusal{pic, []string{"sensitivity", "high"}, 400, "invalid_request", []string{"sensitivity", "balanced, strict or sensitive"}}
	list["bad async"] = refusal{pic, []string{"async", "1"}, 400, "invalid_request", []string{"async", "true or false"}}
	return list
}

//go:build gocv_specific_modules

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// box is where the content of the first box of a kind starts.
func box(t testing.TB, file []byte, kind string) int {
	t.Helper()
	i := bytes.Index(file, []byte(kind))
	if i < 4 {
		t.Fatalf("no %s box", kind)
	}
	return i + 4
}

// wantCode fails unless err is the client's fault of the given code, and says
// so with the given words.
func wantCode(t *testing.T, err error, code preprocess.Code, words ...string) {
	t.Helper()
	var fault *preprocess.Error
	if !errors.As(err, &fault) || fault.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, w := range words {
		if !strings.Contains(fault.Message, w) {
			t.Errorf("%q does not say %q", fault.Message, w)
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// TestHeaderLies changes what headers say of durations and counts: the packets
// tell the truth.
func TestHeaderLies(t *testing.T) {
	t.Parallel()
	master := clock(t, 6)
	mp4 := read(t, encode(t, master, "x.mp4", "-c:v", "libx264", "-c:a", "aac"))
	avi := read(t, encode(t, master, "x.avi", "-c:v", "mpeg4", "-c:a", "libmp3lame"))
	for name, tc := range map[string]struct {
		file   []byte
		format preprocess.Format
		box    string
		skip   int
		values []uint32
		order  binary.ByteOrder
	}{
		"film duration":  {mp4, preprocess.MP4, "mvhd", 16, []uint32{0, 1, 0x7FFFFFFF}, binary.BigEndian},
		"track duration": {mp4, preprocess.MP4, "tkhd", 20, []uint32{0, 1, 0x7FFFFFFF}, binary.BigEndian},
		"media duration": {mp4, preprocess.MP4, "mdhd", 16, []uint32{0, 1, 0x7FFFFFFF}, binary.BigEndian},
		"frame count":    {avi, preprocess.AVI, "avih", 4 + 16, []uint32{0, 1, 1_000_000_000}, binary.LittleEndian},
		"stream length":  {avi, preprocess.AVI, "strh", 4 + 32, []uint32{0, 1, 1_000_000_000}, binary.LittleEndian},
	} {
		for _, v := range tc.values {
			t.Run(fmt.Sprintf("%s %d", name, v), func(t *testing.T) {
				t.Parallel()
				file := bytes.Clone(tc.file)
				tc.order.PutUint32(file[box(t, file, tc.box)+tc.skip:], v)
				d, err := decodeBytes(t, file, tc.format, preprocess.DefaultLimits())
				if err != nil {
					t.Fatal(err)
				}
				wantClock(t, d, 6)
				if d.Duration > 6300*time.Millisecond {
					t.Errorf("lasts %v", d.Duration)
				}
			})
		}
	}
}

// TestSampleTableLies changes the tables that the frames are found by: whatever
// comes out, it comes soon and without a crash.
func TestSampleTableLies(t *testing.T) {
	t.Parallel()
	mp4 := read(t, encode(t, clock(t, 2), "x.mp4", "-c:v", "libx264", "-an"))
	for kind, skips := range map[string][]int{"stts": {4, 8, 12}, "stsz": {4, 8, 12}, "stsc": {4, 8, 12}, "stco": {4, 8}, "stss": {4, 8}, "ctts": {4, 8}} {
		for _, skip := range skips {
			for _, v := range []uint32{0, 1, 1_000_000_000, 0xFFFFFFFF} {
				t.Run(fmt.Sprintf("%s+%d %d", kind, skip, v), func(t *testing.T) {
					t.Parallel()
					file := bytes.Clone(mp4)
					binary.BigEndian.PutUint32(file[box(t, file, kind)+skip:], v)
					d, err := decodeBytes(t, file, preprocess.MP4, preprocess.DefaultLimits())
					if err == nil && len(d.arena.Frames()) == 0 {
						t.Error("a video without frames and without an error")
					}
				})
			}
		}
	}
}

func TestContainerLimits(t *testing.T) {
	t.Parallel()
	master := clock(t, 3)
	video := encode(t, master, "x.mp4", "-c:v", "libx264", "-c:a", "aac")
	l := preprocess.DefaultLimits()
	l.Pixels = 160*128 - 1
	_, err := decodePath(t, video, preprocess.MP4, l)
	wantCode(t, err, preprocess.PayloadTooLarge, "160 by 128", "20479")
	l = preprocess.DefaultLimits()
	l.Duration = time.Second
	_, err = decodePath(t, video, preprocess.MP4, l)
	wantCode(t, err, preprocess.PayloadTooLarge, "at most 1s")
	_, err = decodePath(t, encode(t, master, "x.mp3", "-vn"), preprocess.MP3, l)
	wantCode(t, err, preprocess.PayloadTooLarge, "at most 1s")
	many := []string{"-vn"}
	for range 40 {
		many = append(many, "-map", "0:a")
	}
	_, err = decodePath(t, encode(t, master, "x.mka", append(many, "-c:a", "pcm_s16le")...), preprocess.Matroska, preprocess.DefaultLimits())
	wantCode(t, err, preprocess.PayloadTooLarge, "40 streams of sound", "at most 32")
	_, err = decodePath(t, encode(t, master, "x.ogg", "-vn", "-t", "0.45", "-c:a", "flac"), preprocess.OGG, preprocess.DefaultLimits())
	wantCode(t, err, preprocess.UnsupportedMediaType, "0.5 seconds")
}

// TestSubtitlesAndFontsDoNotCount: a film with subtitles in many languages, or the fonts that
// they are set in, was refused for its number of streams.
func TestSubtitlesAndFontsDoNotCount(t *testing.T) {
	t.Parallel()
	film, dir := encode(t, clock(t, 2), "x.mkv", "-c:v", "libx264", "-c:a", "aac"), t.TempDir()
	words, font, many := filepath.Join(dir, "x.srt"), filepath.Join(dir, "x.ttf"), filepath.Join(dir, "many.mkv")
	for name, content := range map[string]string{words: "1\n00:00:00,000 --> 00:00:01,000\nWords\n", font: "of no use"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-i", film, "-i", words, "-map", "0", "-c", "copy", "-metadata:s:t", "mimetype=font/ttf"}
	for range 40 {
		args = append(args, "-map", "1", "-attach", font)
	}
	ffmpeg(t, append(args, many)...)
	d := mustDecode(t, many, preprocess.Matroska)
	if len(d.arena.Frames()) == 0 || len(d.arena.Windows()) == 0 || d.Notes != nil {
		t.Errorf("found %+v, %d frames", d.Found, len(d.arena.Frames()))
	}
}

// TestLargeCovers: sound was refused for the size of its cover, which is not judged.
func TestLargeCovers(t *testing.T) {
	t.Parallel()
	master, l := clock(t, 2), preprocess.DefaultLimits()
	l.Pixels = 160*128 - 1
	cover := encode(t, master, "cover.jpg", "-an", "-frames:v", "1", "-pix_fmt", "yuvj420p")
	for name, format := range map[string]preprocess.Format{
		"x.flac": preprocess.FLAC, "x.mp3": preprocess.MP3, "x.m4a": preprocess.M4A, "x.mka": preprocess.Matroska,
	} {
		path, args := filepath.Join(t.TempDir(), name), []string{"-i", master}
		if format == preprocess.Matroska {
			args = append(args, "-vn", "-attach", cover, "-metadata:s:t", "mimetype=image/jpeg")
		} else {
			args = append(args, "-i", cover, "-map", "0:a", "-map", "1", "-c:v", "copy", "-disposition:v", "attached_pic")
		}
		ffmpeg(t, append(args, path)...)
		d, err := decodePath(t, path, format, l)
		if err != nil || d.Kind != preprocess.Audio || len(d.arena.Windows()) == 0 || d.Notes != nil {
			t.Errorf("%s: found %+v, %v", name, d.Found, err)
		}
	}
}

// TestLimitOfAFilmWithoutTimes: pictures that are all at one time are spread over
// one that nobody compared with the limit. The server did not believe it, and
// killed two children.
func TestLimitOfAFilmWithoutTimes(t *testing.T) {
	t.Parallel()
	l := preprocess.DefaultLimits()
	l.Duration = time.Second // of 30 pictures
	path := encode(t, clock(t, 3), "x.mkv", "-an", "-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-bsf:v", "setts=ts=0")
	_, err := decodePath(t, path, preprocess.Matroska, l)
	wantCode(t, err, preprocess.PayloadTooLarge, "at most 1s")
}

// TestGiantPictures: a header that claims 65535 by 65535 pixels is refused
// before anything is decoded.
func TestGiantPictures(t *testing.T) {
	t.Parallel()
	file := read(t, encode(t, clock(t, 1), "x.mp4", "-c:v", "libx264", "-an"))
	stsd := box(t, file, "stsd")
	binary.BigEndian.PutUint32(file[stsd+box(t, file[stsd:], "avc1")+24:], 0xFFFFFFFF)
	_, err := decodeBytes(t, file, preprocess.MP4, preprocess.DefaultLimits())
	wantCode(t, err, preprocess.PayloadTooLarge, "65535 by 65535", "64000000")
}

// TestPixelsOfEveryCodec: MPEG-4 in MP4 with too many pixels was called damaged,
// since only the codec's own header says how many there are.
func TestPixelsOfEveryCodec(t *testing.T) {
	t.Parallel()
	master, l := clock(t, 1), preprocess.DefaultLimits()
	l.Pixels = 160*128 - 1
	for name, args := range videoCodecsTested() {
		if name == "VP8" || name == "Theora" {
			continue // not in MP4
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodePath(t, encode(t, master, "x.mp4", append([]string{"-an"}, args...)...), preprocess.MP4, l)
			wantCode(t, err, preprocess.PayloadTooLarge, "160 by 128", "20479")
		})
	}
}

// TestThousandsOfStreams repeats the track of a sound file, as it is and as subtitles.
func TestThousandsOfStreams(t *testing.T) {
	t.Parallel()
	file := read(t, encode(t, clock(t, 1), "x.m4a", "-vn", "-c:a", "aac"))
	trak, moov := box(t, file, "trak")-8, box(t, file, "moov")-8
	end := trak + int(binary.BigEndian.Uint32(file[trak:]))
	words := bytes.Replace(bytes.Replace(bytes.Clone(file[trak:end]), []byte("soun"), []byte("sbtl"), 1), []byte("mp4a"), []byte("tx3g"), 1)
	with := func(track []byte, n int) error {
		many := slices.Concat(file[:end], bytes.Repeat(track, n), file[end:])
		binary.BigEndian.PutUint32(many[moov:], binary.BigEndian.Uint32(many[moov:])+uint32(n*len(track)))
		_, err := decodeBytes(t, many, preprocess.M4A, preprocess.DefaultLimits())
		return err
	}
	if with(file[trak:end], 20_000) == nil {
		t.Error("20,001 streams pass")
	}
	for _, tc := range []struct {
		track []byte
		n     int
		says  string
	}{
		{file[trak:end], 31, ""},
		{file[trak:end], 32, "33 streams of sound"},
		{file[trak:end], 3000, "3001 streams of sound"},
		{words, 511, ""},
		{words, 3000, "3001 streams, with subtitles"}, // of which the library would take half a minute
	} {
		switch err := with(tc.track, tc.n); {
		case tc.says != "":
			wantCode(t, err, preprocess.PayloadTooLarge, tc.says)
		case err != nil:
			t.Errorf("%d more streams: %v", tc.n, err)
		}
	}
}

// TestTruncated cuts files off at every tenth: what is left is judged, or there
// is an error.
func TestTruncated(t *testing.T) {
	t.Parallel()
	master := clock(t, 4)
	fast := []string{"-c:v", "libx264", "-preset", "veryfast", "-g", "5", "-c:a", "aac", "-movflags", "faststart"}
	for name, tc := range map[string]struct {
		format preprocess.Format
		args   []string
		some   int // percent that is enough for something to be judged; 0 for never
	}{
		"x.mp4":  {preprocess.MP4, fast, 60},
		"y.mp4":  {preprocess.MP4, fast[:len(fast)-2], 0},
		"x.mkv":  {preprocess.Matroska, fast[:len(fast)-2], 30},
		"x.avi":  {preprocess.AVI, []string{"-c:v", "mjpeg", "-pix_fmt", "yuvj420p", "-c:a", "libmp3lame"}, 30},
		"x.mp3":  {preprocess.MP3, []string{"-vn"}, 30},
		"x.flac": {preprocess.FLAC, []string{"-vn"}, 40},
		"x.ogg":  {preprocess.OGG, []string{"-vn", "-c:a", "libvorbis"}, 50},
		"x.aac":  {preprocess.AAC, []string{"-vn"}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := read(t, encode(t, master, name, tc.args...))
			for percent := 10; percent < 100; percent += 10 {
				d, err := decodeBytes(t, file[:len(file)*percent/100], tc.format, preprocess.DefaultLimits())
				if err == nil && len(d.arena.Frames())+len(d.arena.Windows()) == 0 {
					t.Errorf("%d %%: nothing, and no error", percent)
				}
				if err != nil && tc.some > 0 && percent >= tc.some {
					t.Errorf("%d %%: %v", percent, err)
				}
				if err == nil && tc.some == 0 {
					t.Errorf("%d %%: an index that is cut off was read", percent)
				}
			}
		})
	}
}

// TestDamagedPictures: a video is judged by the pictures that can be decoded,
// and not at all without.
func TestDamagedPictures(t *testing.T) {
	t.Parallel()
	master := clock(t, 2)
	for _, sound := range [][]string{{"-an"}, {"-c:a", "pcm_s16le"}} {
		file := read(t, encode(t, master, "x.avi", append([]string{"-c:v", "mjpeg", "-pix_fmt", "yuvj420p"}, sound...)...))
		_, err := decodeBytes(t, spoiled(file, 0, 99), preprocess.AVI, preprocess.DefaultLimits())
		wantCode(t, err, preprocess.UnsupportedMediaType, "mjpeg", "damaged")
		d, err := decodeBytes(t, spoiled(file, 3, 8), preprocess.AVI, preprocess.DefaultLimits())
		if n := len(d.arena.Frames()); err != nil || d.Kind != preprocess.Video || n < 8 || n > 16 {
			t.Fatalf("some noise gives %+v with %d frames, %v", d.Found, n, err)
		}
	}
}

// spoiled overwrites the pictures from number from to number to of an AVI file.
func spoiled(file []byte, from, to int) []byte { return spoiledChunks(file, "00dc", from, to) }

// TestPlaylists: text that names other files is not media, and nothing that it
// names is opened, whatever it claims to be.
func TestPlaylists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	named := filepath.Join(dir, "named.mp3")
	ffmpeg(t, "-f", "lavfi", "-i", toneSource(44100, "mono"), named)
	mustDecode(t, named, preprocess.MP3) // it could be judged if it were opened
	for name, text := range map[string]string{
		"HLS":    "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n" + named + "\n#EXT-X-ENDLIST\n",
		"concat": "ffconcat version 1.0\nfile '" + named + "'\n",
		"DASH":   "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\"><BaseURL>" + named + "</BaseURL></MPD>",
		"SDP":    "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n",
		"text":   strings.Repeat("This is a sentence, not a film. ", 500),
	} {
		for _, f := range []preprocess.Format{preprocess.MP3, preprocess.AAC, preprocess.FLAC, preprocess.OGG, preprocess.AMR,
			preprocess.MP4, preprocess.MOV, preprocess.Matroska, preprocess.WebM, preprocess.AVI, preprocess.WAV} {
			if d, err := decodeBytes(t, []byte(text), f, preprocess.DefaultLimits()); err == nil {
				t.Errorf("%s as %s gives %+v", name, f, d.Found)
			}
		}
	}
}

// TestNothingLeaks decodes many files and looks at descriptors and memory.
func TestNothingLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	master := clock(t, 1)
	files := map[preprocess.Format]string{
		preprocess.MP4:  encode(t, master, "x.mp4", "-c:v", "libx264", "-c:a", "aac"),
		preprocess.WebM: encode(t, master, "x.webm", "-c:v", "libvpx", "-c:a", "libopus"),
		preprocess.MP3:  encode(t, master, "x.mp3", "-vn"),
		preprocess.WAV:  encode(t, master, "x.wav", "-vn"),
	}
	files[preprocess.AVI] = filepath.Join(t.TempDir(), "cut.avi")
	whole := read(t, encode(t, master, "x.avi", "-c:v", "mpeg4", "-c:a", "libmp3lame"))
	if err := os.WriteFile(files[preprocess.AVI], whole[:len(whole)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	round := func(n int) {
		for range n {
			t.Run("file", func(t *testing.T) { // its arenas are closed at its end
				for f, path := range files {
					_, _ = decodePath(t, path, f, preprocess.DefaultLimits())
				}
			})
		}
	}
	round(20)
	descriptors, memory := openFiles(t), resident(t)
	round(40)
	if now := openFiles(t); now > descriptors {
		t.Errorf("%d descriptors have become %d", descriptors, now)
	}
	if grown := resident(t) - memory; grown > 16<<20 {
		t.Errorf("200 files have left %d KiB behind", grown>>10)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

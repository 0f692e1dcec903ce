//go:build gocv_specific_modules

package decode

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"deepfaked/preprocess"
)

// soundFile is a way to store sound.
type soundFile struct {
	format preprocess.Format
	ext    string
	codec  []string
	shapes []shape
}

// shape is how sound is sampled.
type shape struct {
	rate   int
	layout string
}

func soundFiles() []soundFile {
	phone, disc, film, studio := shape{8000, "mono"}, shape{44100, "stereo"}, shape{48000, "5.1"}, shape{96000, "stereo"}
	aac := []string{"-c:a", "aac", "-b:a", "384k"}
	return []soundFile{
		{preprocess.MP3, "mp3", []string{"-c:a", "libmp3lame"}, []shape{{22050, "mono"}, disc, {48000, "stereo"}}},
		{preprocess.AAC, "aac", aac, []shape{phone, disc, film, studio}},
		{preprocess.M4A, "m4a", aac, []shape{phone, disc, film, studio}},
		{preprocess.M4A, "m4a", []string{"-c:a", "alac"}, []shape{disc}},
		{preprocess.FLAC, "flac", []string{"-c:a", "flac"}, []shape{phone, disc, film, studio}},
		{preprocess.OGG, "ogg", []string{"-c:a", "libvorbis", "-q:a", "6"}, []shape{phone, disc, film, studio}},
		{preprocess.OGG, "opus", []string{"-c:a", "libopus", "-b:a", "256k"}, []shape{phone, film, {48000, "stereo"}}},
		{preprocess.OGG, "oga", []string{"-c:a", "flac"}, []shape{disc}},
		{preprocess.WebM, "webm", []string{"-c:a", "libopus"}, []shape{{48000, "stereo"}}},
		{preprocess.Matroska, "mka", []string{"-c:a", "libvorbis"}, []shape{disc}},
		{preprocess.MP4, "mp4", []string{"-c:a", "ac3", "-b:a", "640k"}, []shape{film}},
		{preprocess.MOV, "mov", []string{"-c:a", "pcm_s16be"}, []shape{disc}},
		{preprocess.AVI, "avi", []string{"-c:a", "pcm_s16le"}, []shape{disc}},
	}
}

// toneSource is the tone in every channel.
func toneSource(rate int, layout string) string {
	n := map[string]int{"mono": 1, "stereo": 2, "5.1": 6}[layout]
	exprs := strings.TrimSuffix(strings.Repeat("0.5*sin(2*PI*440*t)|", n), "|")
	return fmt.Sprintf("aevalsrc=%s:s=%d:c=%s:d=2", exprs, rate, layout)
}

func TestSoundOfEveryFormat(t *testing.T) {
	t.Parallel()
	for _, f := range soundFiles() {
		for _, s := range f.shapes {
			t.Run(fmt.Sprintf("%s %s %d Hz %s", f.format, f.codec[1], s.rate, s.layout), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "tone."+f.ext)
				args := append([]string{"-f", "lavfi", "-i", toneSource(s.rate, s.layout)}, f.codec...)
				ffmpeg(t, append(args, path)...)
				d, err := decodePath(t, path, f.format, testLimits())
				if err != nil {
					t.Fatal(err)
				}
				checkTone(t, d, f, s.layout)
			})
		}
	}
}

// checkTone holds what was decoded against the tone. Coders keep little of it
// in the channel for low frequencies, so six channels may lose a sixth.
func checkTone(t *testing.T, d decoded, f soundFile, layout string) {
	t.Helper()
	if d.Kind != preprocess.Audio || d.Format != string(f.format) || d.Width != 0 || d.Notes != nil {
		t.Errorf("found %+v", d.Found)
	}
	if d.Duration < 1900*time.Millisecond || d.Duration > 2200*time.Millisecond {
		t.Errorf("lasts %v", d.Duration)
	}
	if n := len(d.arena.Windows()); n != 4 {
		t.Fatalf("%d windows", n)
	}
	tolerance := 0.06 // LAME turns some rates down by a twentieth
	if layout == "5.1" {
		tolerance = 0.2
	}
	for i := 1; i < 3; i++ { // coders ring at the ends
		wantTone(t, window(t, d.arena, i), 0.5, tolerance)
	}
}

// TestSoundAgainstFFmpeg compares with the command line tool's own decoding.
func TestSoundAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format   preprocess.Format
		name     string
		codec    string
		channels int
	}{
		{preprocess.MP3, "x.mp3", "libmp3lame", 2},
		{preprocess.FLAC, "x.flac", "flac", 6},
		{preprocess.M4A, "x.m4a", "aac", 2},
		{preprocess.OGG, "x.ogg", "libvorbis", 2},
		{preprocess.OGG, "x.opus", "libopus", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), tc.name)
			ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=2:a=0.3:r=48000:seed=7,lowpass=f=6000", "-ac", fmt.Sprint(tc.channels), "-c:a", tc.codec, path)
			compareSound(t, path, tc.format, tc.channels)
		})
	}
}

// TestAMR reads two seconds of the tone at a quarter of full scale. The
// distribution's FFmpeg cannot write AMR: the files were made with the
// reference encoders opencore-amrnb and vo-amrwbenc.
func TestAMR(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]preprocess.Format{"testdata/tone.amr": preprocess.AMR, "testdata/tone-wb.amr": preprocess.AMRWB} {
		d, err := decodePath(t, name, f, testLimits())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Duration != 2*time.Second || d.Kind != preprocess.Audio {
			t.Errorf("%s: found %+v", name, d.Found)
		}
		compareSound(t, name, f, 1)
		wantTone(t, window(t, d.arena, 2), 0.18, 0.15) // the encoders take a third of so pure a tone
	}
}

// TestCoverArtIsNotVideo: music with a picture of its sleeve is sound.
func TestCoverArtIsNotVideo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cover := filepath.Join(dir, "cover.jpg")
	ffmpeg(t, "-f", "lavfi", "-i", "testsrc2=s=64x64:d=1", "-frames:v", "1", cover)
	for name, f := range map[string]preprocess.Format{"x.mp3": preprocess.MP3, "x.m4a": preprocess.M4A, "x.flac": preprocess.FLAC} {
		path := filepath.Join(dir, name)
		ffmpeg(t, "-f", "lavfi", "-i", toneSource(44100, "mono"), "-i", cover, "-map", "0:a", "-map", "1:v",
			"-c:v", "copy", "-disposition:v", "attached_pic", path)
		d, err := decodePath(t, path, f, testLimits())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d.Kind != preprocess.Audio || len(d.arena.Frames()) != 0 {
			t.Errorf("%s: found %+v with %d frames", name, d.Found, len(d.arena.Frames()))
		}
		wantTone(t, window(t, d.arena, 1), 0.5, 0.05)
	}
}

// An MP3 that did not begin on a frame, because it was cut or zeros stood before it,
// was of no known format, though every player plays it.
func TestMP3FromWithin(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mp3")
	ffmpeg(t, "-f", "lavfi", "-i", toneSource(44100, "mono"), path)
	whole := read(t, path)
	for name, data := range map[string][]byte{"cut": whole[1000:], "zeros": append(make([]byte, 2000), whole[1000:]...)} {
		if f, _ := preprocess.Sniff(data[:preprocess.SniffBytes]); f != preprocess.MP3 {
			t.Errorf("%s: it is taken for %q", name, f)
		}
		d, err := decodeBytes(t, data, preprocess.MP3, testLimits())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		wantTone(t, window(t, d.arena, 1), 0.5, 0.1)
	}
}

// TestTagsBeforeSound: what the server recognises behind an ID3 tag is decoded
// from behind it.
func TestTagsBeforeSound(t *testing.T) {
	t.Parallel()
	tag := append([]byte("ID3\x04\x00\x00\x00\x03\x00\x00"), make([]byte, 3<<14)...)
	for ext, f := range map[string]preprocess.Format{"flac": preprocess.FLAC, "ogg": preprocess.OGG, "aac": preprocess.AAC, "mp3": preprocess.MP3} {
		path := filepath.Join(t.TempDir(), "x."+ext)
		ffmpeg(t, "-f", "lavfi", "-i", toneSource(44100, "mono"), path)
		d, err := decodeBytes(t, slices.Concat(tag, read(t, path)), f, testLimits())
		if err != nil {
			t.Fatalf("%s: %v", ext, err)
		}
		wantTone(t, window(t, d.arena, 1), 0.5, 0.1)
	}
}

// TestAACThatBeginsAmidAFrame: a recording of a station that was cut anywhere was not recognised.
func TestAACThatBeginsAmidAFrame(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.aac")
	ffmpeg(t, "-f", "lavfi", "-i", toneSource(44100, "mono"), path)
	cut := read(t, path)[100:]
	format, ok := preprocess.Sniff(cut[:preprocess.SniffBytes])
	if !ok || format != preprocess.AAC {
		t.Fatalf("it is taken for %q", format)
	}
	d, err := decodeBytes(t, cut, format, testLimits())
	if err != nil {
		t.Fatal(err)
	}
	wantTone(t, window(t, d.arena, 1), 0.5, 0.1)
}

// TestSamplesOfFramesAreCounted: what a decoder gives counts, in all channels, whatever the file says of itself.
func TestSamplesOfFramesAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.flac")
	ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=r=48000:d=1", "-ac", "2", path)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	src := Source{File: file, Size: info.Size(), Format: preprocess.FLAC, Limits: preprocess.DefaultLimits()}
	const samples = 2 * 48_000
	if _, err := decodeTrack(src, 0, sound{limit: time.Minute, heard: maxHeard - samples}); err != nil {
		t.Error(err)
	}
	_, err = decodeTrack(src, 0, sound{limit: time.Minute, heard: maxHeard - samples + 1})
	wantCode(t, err, preprocess.PayloadTooLarge, "samples of sound in all channels")
}

// TestSilentTracks: of a film or a recording whose first track is that of a microphone which
// was not plugged in, silence was judged, and what is said in the next one not heard. Some such
// tracks are not at zero, but at another level all the time.
func TestSilentTracks(t *testing.T) {
	t.Parallel()
	silence, tone, opposite := "anullsrc=r=48000:cl=stereo:d=2", "sine=440:r=48000:d=2,volume=4", "aevalsrc=0.5*sin(880*PI*t)|-0.5*sin(880*PI*t):s=48000:d=2"
	for name, tc := range map[string]struct {
		tracks    []string
		amplitude float64
	}{
		"first":         {[]string{silence, tone}, 0.5},
		"of one level":  {[]string{"aevalsrc=0.7|0.7:s=44100:d=2", tone}, 0.5},
		"three":         {[]string{silence, silence, silence, tone}, 0.5},
		"then opposite": {[]string{silence, opposite}, 0.5},
		"last":          {[]string{tone, silence}, 0.5},
		"too many":      {[]string{silence, silence, silence, silence, tone}, 0},
		"all":           {[]string{silence, silence}, 0},
	} {
		for _, video := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, film %t", name, video), func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "tracks.mp4")
				args := []string{"-f", "lavfi", "-i", "testsrc2=s=64x64:r=10:d=2"}
				maps := []string{"-c:v", "mpeg4", "-c:a", "alac"}
				if video {
					maps = append(maps, "-map", "0")
				}
				for i, track := range tc.tracks {
					args = append(args, "-f", "lavfi", "-i", track)
					maps = append(maps, "-map", fmt.Sprint(i+1))
				}
				ffmpeg(t, append(append(args, maps...), path)...)
				d, err := decodePath(t, path, preprocess.MP4, testLimits())
				if err != nil {
					t.Fatal(err)
				}
				windows := d.arena.Windows()
				if len(windows) != 4 {
					t.Fatalf("%d windows", len(windows))
				}
				if got := level(window(t, d.arena, 1), 440); got < 0.95*tc.amplitude || got > 1.05*tc.amplitude {
					t.Errorf("the tone has amplitude %.4f, want %.4f", got, tc.amplitude)
				}
			})
		}
	}
}

// TestTracksAreHeardTogether: the tracks that are listened to after silent ones cost together with these, and have no more
// samples together than one may have.
func TestTracksAreHeardTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.mp4")
	silence := "anullsrc=r=48000:cl=stereo:d=1"
	ffmpeg(t, "-f", "lavfi", "-i", silence, "-f", "lavfi", "-i", silence, "-f", "lavfi", "-i", "sine=440:r=48000:d=1",
		"-map", "0", "-map", "1", "-map", "2", "-c:a", "alac", path)
	src, in := openTest(t, path)
	heard := int64(0)
	for track := 1; track <= 2; track++ {
		s, err := decodeTrack(src, track, sound{limit: time.Minute})
		if err != nil || s.heard == 0 {
			t.Fatalf("track %d: %d samples, %v", track, s.heard, err)
		}
		heard += s.heard
	}
	c := container{sound: sound{limit: time.Minute, heard: maxHeard - heard}}
	if err := c.takeTrack(src, in); err != nil || c.track != 2 || c.sound.heard != maxHeard {
		t.Errorf("track %d, after %d samples, %v", c.track, c.sound.heard, err)
	}
	c = container{sound: sound{limit: time.Minute, heard: maxHeard - heard + 1}}
	wantCode(t, c.takeTrack(src, in), preprocess.PayloadTooLarge, "samples of sound in all channels")
}

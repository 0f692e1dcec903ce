//go:build gocv_specific_modules

package decode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"deepfaked/preprocess"
)

func TestDecodeWAV(t *testing.T) {
	t.Parallel()
	for _, k := range wavKinds() {
		for _, rate := range []int{8000, 16000, 44100, 96000} {
			for _, channels := range []int{1, 2, 6} {
				if rate == 96000 && channels == 6 {
					continue
				}
				t.Run(fmt.Sprintf("%s %d Hz %d channels", k.name, rate, channels), func(t *testing.T) {
					t.Parallel()
					d, err := decodeBytes(t, toneWAV(k, channels, rate, 2*rate, channels > 2), preprocess.WAV, testLimits())
					if err != nil {
						t.Fatal(err)
					}
					if d.Kind != preprocess.Audio || d.Format != "WAV" || d.Duration != 2*time.Second || len(d.arena.Windows()) != 4 {
						t.Fatalf("found %+v, %d windows", d.Found, len(d.arena.Windows()))
					}
					for i := range 4 {
						wantTone(t, window(t, d.arena, i), 0.5, 0.02)
					}
				})
			}
		}
	}
}

// TestWAVAgainstFFmpeg compares with the command line tool's own decoding of
// the same files, through which the sounds of the training went.
func TestWAVAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, codec := range []string{"pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le", "pcm_alaw", "pcm_mulaw"} {
		path := filepath.Join(dir, codec+".wav")
		ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.3:r=44100:seed=7", "-ac", "1", "-c:a", codec, path)
		compareSound(t, path, preprocess.WAV, 1)
		narrow := filepath.Join(dir, codec+"-8k.wav")
		ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.3:r=8000:seed=7", "-ac", "1", "-c:a", codec, narrow)
		compareSound(t, narrow, preprocess.WAV, 1)
	}
}

// TestLoudWAVAgainstFFmpeg: floats above full scale were clipped before the rate was changed, and FFmpeg, through
// which the sounds of the training went, clips after: up to .4 in the log-odds of a speech that is 12 dB too loud.
func TestLoudWAVAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"pcm_f32le", "pcm_f64le"} {
		path := filepath.Join(t.TempDir(), codec+".wav")
		ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.8:r=44100:seed=7", "-af", "aformat=dblp,volume=12dB:precision=double", "-ac", "1", "-c:a", codec, path)
		compareSound(t, path, preprocess.WAV, 1)
	}
}

// TestTaggedWAVAgainstFFmpeg: a WAV file behind an ID3 tag, which FFmpeg plays, was refused.
func TestTaggedWAVAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.3:r=16000:seed=7", "-ac", "1", path)
	tag := append([]byte("ID3\x04\x00\x00\x00\x00\x27\x10"), make([]byte, 0x27<<7+0x10)...)
	tagged := filepath.Join(t.TempDir(), "tagged.wav")
	if err := os.WriteFile(tagged, slices.Concat(tag, read(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
	compareSound(t, tagged, preprocess.WAV, 1)
}

// TestOddWAVAgainstFFmpeg: a WAV file whose header leaves a number out that follows from others, or
// stands there twice, was refused, though FFmpeg plays it.
func TestOddWAVAgainstFFmpeg(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "x.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "anoisesrc=d=1:a=0.3:r=16000:seed=7", "-ac", "2", plain)
	data := read(t, plain)
	aligned := slices.Clone(data)
	binary.LittleEndian.PutUint16(aligned[32:], 0)
	for name, data := range map[string][]byte{"aligned": aligned, "twice": slices.Concat(data[:36], data[12:36], data[36:])} {
		path := filepath.Join(t.TempDir(), name+".wav")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		compareSound(t, path, preprocess.WAV, 2)
	}
}

// compareSound holds the beginning of a file against the tool's decoding to the
// mean of its channels in 16 bits. The last bit may differ; for several channels
// the tool rounds twice.
func compareSound(t *testing.T, path string, f preprocess.Format, channels int) {
	t.Helper()
	mix := "pan=mono|c0="
	for c := range channels {
		mix += fmt.Sprintf("%+.9f*c%d", 1/float64(channels), c)
	}
	allowed := float64(min(channels, 2))
	raw := ffmpeg(t, "-i", path, "-map", "0:a:0", "-af", mix, "-ar", "16000", "-f", "s16le", "-")
	l := preprocess.DefaultLimits()
	l.Samples = 10_000 // a second holds more than one window, the first of them at its start
	d, err := decodePath(t, path, f, l)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	got := window(t, d.arena, 0)
	if len(raw)/2 < len(got) {
		t.Fatalf("%s: %d samples to compare with", path, len(raw)/2)
	}
	for n, x := range got {
		want := int16(binary.LittleEndian.Uint16(raw[2*n:]))
		if math.Abs(float64(x)*fullScale-float64(want)) > allowed {
			t.Fatalf("%s: sample %d is %v, ffmpeg says %v", path, n, x*fullScale, want)
		}
	}
}

// TestWAVDoesNotAlias: what lies above half the target rate must be gone.
func TestWAVDoesNotAlias(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "high.wav")
	ffmpeg(t, "-f", "lavfi", "-i", "aevalsrc=0.5*sin(2*PI*15000*t):s=48000:d=1", path)
	d, err := decodePath(t, path, preprocess.WAV, testLimits())
	if err != nil {
		t.Fatal(err)
	}
	if p := power(window(t, d.arena, 1)); p > 1e-6 {
		t.Fatalf("15 kHz comes out with power %v", p)
	}
}

// TestWAVLimits: of genuine speech cut to a tenth of a second a quarter to half was called fake, and it
// was enough to be judged.
func TestWAVLimits(t *testing.T) {
	t.Parallel()
	pcm := wavKinds()[1]
	var fault *preprocess.Error
	l := testLimits()
	l.Duration = time.Second
	if _, err := decodeBytes(t, toneWAV(pcm, 1, 8000, 8800, false), preprocess.WAV, l); !errors.As(err, &fault) || fault.Code != preprocess.PayloadTooLarge {
		t.Fatalf("too long: %v", err)
	}
	if _, err := decodeBytes(t, toneWAV(pcm, 1, 8000, 3900, false), preprocess.WAV, l); !errors.As(err, &fault) || fault.Code != preprocess.UnsupportedMediaType {
		t.Fatalf("too short: %v", err)
	}
	if d, err := decodeBytes(t, toneWAV(pcm, 1, 8000, 8000, false), preprocess.WAV, l); err != nil || d.Duration != time.Second {
		t.Fatalf("as long as allowed: %v", err)
	}
	cut := toneWAV(pcm, 2, 44100, 44100, false)
	if d, err := decodeBytes(t, cut[:len(cut)*3/5], preprocess.WAV, testLimits()); err != nil || len(d.arena.Windows()) != 1 {
		t.Fatalf("cut off: %v", err)
	}
}

// TestWAVCutOff: what there was of a WAV file that was cut off was judged for the whole, and
// nobody was told, as of all other formats. What espeak writes into a pipe is whole.
func TestWAVCutOff(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{8000, soundRate} {
		whole := toneWAV(wavKinds()[1], 1, rate, 2*rate, false)
		piped := slices.Clone(whole)
		binary.LittleEndian.PutUint32(piped[40:], 0x7ffff000)
		for name, tc := range map[string]struct {
			file []byte
			want []preprocess.Note
		}{
			"whole":   {whole, nil},
			"a byte":  {whole[:len(whole)-1], nil},
			"half":    {whole[:len(whole)/2], []preprocess.Note{preprocess.Incomplete}},
			"endless": {piped, nil},
			"another": {slices.Concat(whole, whole[36:]), []preprocess.Note{preprocess.Incomplete}},
		} {
			d, err := decodeBytes(t, tc.file, preprocess.WAV, testLimits())
			if err != nil || !slices.Equal(d.Notes, tc.want) {
				t.Errorf("%s at %d Hz: notes %q, want %q, %v", name, rate, d.Notes, tc.want, err)
			}
		}
	}
}

// TestLargeWAVInBlocks decodes what a hundred megabytes of sound are at most, at
// 192 kHz in 8 channels, without ever holding them.
func TestLargeWAVInBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	const size = 100 << 20
	path := filepath.Join(t.TempDir(), "large.wav")
	head := riff("RIFF", format(wavPCM, 8, 192_000, 16), riffChunk("data", size, nil))
	if err := os.WriteFile(path, head, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size+44); err != nil {
		t.Fatal(err)
	}
	before := resident(t)
	d := mustDecode(t, path, preprocess.WAV)
	if d.Duration < 34*time.Second || d.Duration > 35*time.Second {
		t.Fatalf("lasts %v", d.Duration)
	}
	if grown := resident(t) - before; grown > 64<<20 {
		t.Fatalf("decoding took %d MiB", grown>>20)
	}
}

// resident is how much memory the process has, in bytes.
func resident(t testing.TB) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var total, pages int64
	if _, err := fmt.Sscan(string(raw), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

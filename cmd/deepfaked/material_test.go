//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// encoders lists what this machine's ffmpeg can encode.
var encoders = sync.OnceValue(func() string {
	out, _ := exec.Command("ffmpeg", "-hide_banner", "-encoders").Output()
	return string(out)
})

// codecFlag finds the encoders that a command line names.
var codecFlag = regexp.MustCompile(`-c:[av] (\S+)`)

// made is what ffmpeg has made, by name and arguments: ten tests judge the same film.
var made sync.Map

// ffmpeg makes a file called name out of the arguments, or copies what it made of them
// before. The test is skipped where an encoder is missing: distributions leave some out.
func ffmpeg(t testing.TB, name, args string) []byte {
	t.Helper()
	if content, ok := made.Load(name + " " + args); ok {
		return bytes.Clone(content.([]byte))
	}
	if encoders() == "" {
		t.Skip("no ffmpeg command to synthesise media with: run scripts/setup")
	}
	for _, codec := range codecFlag.FindAllStringSubmatch(args, -1) {
		if codec[1] != "copy" && !strings.Contains(encoders(), " "+codec[1]+" ") {
			t.Skipf("this ffmpeg has no encoder %s", codec[1])
		}
	}
	path := filepath.Join(t.TempDir(), name)
	all := append(strings.Fields("-v error -nostdin -y "+args), path)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", all...).CombinedOutput()
	require.NoError(t, err, "ffmpeg %s: %s", args, out)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	made.Store(name+" "+args, bytes.Clone(content))
	return content
}

// Sources of six seconds.
const (
	scene = "-f lavfi -i testsrc=s=176x144:r=10:d=6,format=yuv420p "
	tone  = "-f lavfi -i sine=f=440:r=44100:d=6 "
	// What espeak-ng says: of a tone nothing would be judged.
	spoken = "-i testdata/voice.ogg "
)

// voice is what a speech synthesiser says in some seconds, as a WAV file.
func voice(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "voice.wav")
	tool, err := exec.LookPath("espeak-ng")
	if err != nil {
		t.Log("no espeak-ng command: a tone stands for speech")
		require.NoError(t, os.WriteFile(path, ffmpeg(t, "tone.wav", tone), 0o600))
		return path
	}
	out, err := exec.CommandContext(t.Context(), tool, "-w", path,
		"The quick brown fox jumps over the lazy dog, and the dog, being lazy, does nothing whatever about it.").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// drawn reads a picture that the decoder's own tests draw.
func drawn(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "preprocess", "decode", "testdata", name))
	require.NoError(t, err)
	return content
}

// picture is a gradient with something in it.
func picture(w, h int) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, color.NRGBA{uint8(255 * x / w), uint8(255 * y / h), uint8(x ^ y), 255})
		}
	}
	return img
}

// encoded is what an encoder of Go's writes.
func encoded(t testing.TB, encode func(*bytes.Buffer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, encode(&out))
	return out.Bytes()
}

// animatedGIF has n frames of as many hundredths of a second each.
func animatedGIF(t testing.TB, n, hundredths int) []byte {
	t.Helper()
	var g gif.GIF
	for i := range n {
		frame := image.NewPaletted(image.Rect(0, 0, 96, 64), color.Palette{color.Black, color.White, color.NRGBA{200, 40, 90, 255}})
		for j := range frame.Pix {
			frame.Pix[j] = uint8((j/(i+1) + j/96) % 3)
		}
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, hundredths)
	}
	return encoded(t, func(b *bytes.Buffer) error { return gif.EncodeAll(b, &g) })
}

// turned writes a quarter turn into the first track of an MP4 file, as a phone
// does that was held upright.
func turned(t testing.TB, mp4 []byte) []byte {
	t.Helper()
	at := bytes.Index(mp4, []byte("tkhd"))
	require.Positive(t, at)
	mp4 = bytes.Clone(mp4)
	for i, v := range []uint32{0, 1 << 16, 0, 0xFFFF0000, 0} {
		binary.BigEndian.PutUint32(mp4[at+44+4*i:], v)
	}
	return mp4
}

// hum is a WAV file of 8 bits at 8 kHz. Silence would not be judged.
func hum(seconds int) []byte {
	n := uint32(8000 * seconds)
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), 36+n)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, n)
	period := slices.Concat(bytes.Repeat([]byte{120}, 40), bytes.Repeat([]byte{136}, 40))
	return append(b, bytes.Repeat(period, int(n)/len(period))...)
}

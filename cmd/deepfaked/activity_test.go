//go:build gocv_specific_modules

package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
)

// sampled is a WAV file of 16 kHz of eight seconds of a signal.
func sampled(t testing.TB, signal func(at float64) float64) []byte {
	t.Helper()
	const rate, seconds = 16_000, 8
	var data bytes.Buffer
	for i := range rate * seconds {
		require.NoError(t, binary.Write(&data, binary.LittleEndian, int16(math.MaxInt16*signal(float64(i)/rate))))
	}
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+data.Len()))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(data.Len())), data.Bytes()...)
}

// TestNobodySpeaks: tones, noise and music were judged by a model that had heard nothing but speech, and got a
// verdict as if somebody had spoken. Speech is found, where it is loud and where it is faint.
func TestNobodySpeaks(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	random := rand.New(rand.NewPCG(1, 2))
	wave := func(hertz, at float64) float64 { return math.Sin(2 * math.Pi * hertz * at) }
	chord := func(at float64) float64 { return .3 * (wave(220, at) + wave(277.2, at) + wave(329.6, at)) }
	var files []string
	for name, signal := range map[string]func(float64) float64{
		"tone":   func(at float64) float64 { return .5 * wave(440, at) },
		"noise":  func(float64) float64 { return random.Float64() - .5 },
		"chord":  chord,
		"plucks": func(at float64) float64 { return chord(at) * math.Exp(-6*math.Mod(at, .5)) },
		"sweep":  func(at float64) float64 { return .5 * wave(50+100*at, at) },
	} {
		files = append(files, write(t, name+".wav", sampled(t, signal)))
	}
	silent := len(files)
	files = append(files, write(t, "voice.wav", ffmpeg(t, "x.wav", spoken)), write(t, "faint.wav", ffmpeg(t, "x.wav", spoken+"-af volume=0.05")))
	said := call(t, append([]string{"detect", "--json", "--provider", "cpu"}, files...)...).ok(t)
	for i, line := range strings.Split(strings.TrimSpace(said), "\n") {
		var j judged
		require.NoError(t, json.Unmarshal([]byte(line), &j))
		r := j.Report
		if i >= silent {
			assert.Len(t, r.Findings, 1, j.File)
			assert.Empty(t, r.Reasons, j.File)
			continue
		}
		assert.Equal(t, inference.NotApplicable, r.Assessment, j.File)
		assert.Equal(t, []inference.Reason{{Code: inference.NoSpeech, Text: inference.NoSpeech.Text()}}, r.Reasons, j.File)
	}
}

//go:build gocv_specific_modules

package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/inference"
	"deepfaked/models"
)

// Samples of a sound of ten minutes, and where another one begins in it.
const (
	soundRate = 16_000
	tenMinute = 600 * soundRate
	spliceAt  = 371 * soundRate
)

// samples decodes a sound.
func samples(t testing.TB, args string) []int16 {
	t.Helper()
	raw := ffmpeg(t, "samples.raw", args+" -ac 1 -ar 16000 -f s16le")
	out := make([]int16, len(raw)/2)
	require.NoError(t, binary.Read(bytes.NewReader(raw), binary.LittleEndian, out))
	return out
}

// wavOf is a WAV file of 16 kHz.
func wavOf(t testing.TB, samples []int16) []byte {
	t.Helper()
	var data bytes.Buffer
	require.NoError(t, binary.Write(&data, binary.LittleEndian, samples))
	b := binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(36+data.Len()))
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x80\x3e\x00\x00\x00\x7d\x00\x00\x02\x00\x10\x00data"...)
	return append(binary.LittleEndian.AppendUint32(b, uint32(data.Len())), data.Bytes()...)
}

// judgedOffline judges files by the command line.
func judgedOffline(t testing.TB, files ...string) []inference.Report {
	t.Helper()
	var out []inference.Report
	said := call(t, append([]string{"detect", "--json", "--provider", "cpu"}, files...)...).ok(t)
	for line := range strings.SplitSeq(strings.TrimSpace(said), "\n") {
		var j judged
		require.NoError(t, json.Unmarshal([]byte(line), &j))
		require.NotNil(t, j.Report, line)
		out = append(out, *j.Report)
	}
	return out
}

// TestASentenceInTenMinutes: sixteen windows were spread over a sound, 40 seconds apart in one of ten minutes, so that
// somebody who spoke between two of them was not heard at all.
func TestASentenceInTenMinutes(t *testing.T) { //nolint:paralleltest // one ONNX Runtime in a process
	long := make([]int16, tenMinute)
	for i := range long {
		long[i] = int16(4000 * math.Sin(2*math.Pi*440*float64(i)/soundRate))
	}
	sentence := samples(t, spoken)
	end := spliceAt + copy(long[spliceAt:], sentence)
	file := write(t, "long.wav", wavOf(t, long))
	coded := write(t, "long.mp3", ffmpeg(t, "long.mp3", "-i "+file+" -c:a libmp3lame -b:a 32k"))
	for _, r := range judgedOffline(t, file, coded) {
		require.Len(t, r.Findings, 1)
		f := r.Findings[0]
		assert.GreaterOrEqual(t, len(f.Pieces), 2)
		for _, p := range f.Pieces {
			assert.Greater(t, p.AtSeconds+4, float64(spliceAt)/soundRate)
			assert.Less(t, p.AtSeconds, float64(end)/soundRate)
		}
		marked(t, f, float64(spliceAt)/soundRate, float64(end)/soundRate)
	}
}

// marked checks that the stretch of a finding lies about a part of the sound, where the built-in model has a rule for stretches.
func marked(t testing.TB, f inference.Finding, from, to float64) {
	t.Helper()
	builtin, err := models.Builtin()
	require.NoError(t, err)
	ruled := slices.ContainsFunc(builtin, func(m *models.Model) bool { return m.Card.Calibration.Stretch != nil })
	if !ruled {
		t.Log("the built-in model has no rule for stretches")
		assert.Nil(t, f.Stretch)
		return
	}
	require.NotNil(t, f.Stretch)
	assert.Greater(t, f.Stretch.EndSeconds, from)
	assert.Less(t, f.Stretch.StartSeconds, to)
	assert.Less(t, f.Stretch.EndSeconds-f.Stretch.StartSeconds, 15.)
}

// TestThreeSyntheticSecondsInTenMinutes: they stand out, and are marked, where genuine speech goes on around them.
func TestThreeSyntheticSecondsInTenMinutes(t *testing.T) { //nolint:paralleltest // as above
	data, heldOut := realMedia(t)
	archive := filepath.Join(data, "speech.tar")
	decoded := func(prefix string, n int) (out [][]int16) {
		files := firstIn(t, archive, prefix, n, heldOut)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			path := write(t, filepath.Base(name), files[name])
			out = append(out, samples(t, "-i "+path))
		}
		return out
	}
	var long []int16
	for genuine := slices.Concat(decoded("real/librispeech", 20)...); len(long) < tenMinute; {
		long = append(long, genuine...)
	}
	long = long[:tenMinute]
	synthetic := decoded("fake/ljspeech", 1)[0]
	require.GreaterOrEqual(t, len(synthetic), 3*soundRate)
	copy(long[spliceAt:spliceAt+3*soundRate], synthetic)
	r := judgedOffline(t, write(t, "long.wav", wavOf(t, long)))[0]
	require.Len(t, r.Findings, 1)
	f := r.Findings[0]
	assert.Greater(t, len(f.Pieces), 250)
	top := slices.MaxFunc(f.Pieces, func(a, b inference.Piece) int { return cmp.Compare(a.ProbabilityFake, b.ProbabilityFake) })
	assert.Greater(t, top.AtSeconds+4, 371.)
	assert.Less(t, top.AtSeconds, 374.)
	marked(t, f, 371, 374)
}

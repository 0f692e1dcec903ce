//go:build gocv_specific_modules

package decode

import (
	"math"
	"path/filepath"
	"testing"

	"deepfaked/preprocess"
)

// TestOppositeChannels: two channels of opposite phase cancelled each other out,
// and what was judged was silence. Their mean is still what is judged otherwise.
func TestOppositeChannels(t *testing.T) {
	t.Parallel()
	const left = "0.5*sin(2*PI*440*t)"
	for name, tc := range map[string]struct {
		right string
		want  float64
	}{
		"opposite":        {"-" + left, 0.5},
		"nearly opposite": {"-0.4*sin(2*PI*440*t)", 0.5},
		"louder right":    {"-0.6*sin(2*PI*440*t)", 0.6},
		"half opposite":   {"-0.2*sin(2*PI*440*t)", 0.15},
		"one silent":      {"0", 0.25},
	} {
		for _, f := range []soundFile{
			{format: preprocess.WAV, ext: "wav", codec: []string{"pcm_s16le"}},
			{format: preprocess.WAV, ext: "wav", codec: []string{"pcm_f32le"}},
			{format: preprocess.FLAC, ext: "flac", codec: []string{"flac"}},
			{format: preprocess.OGG, ext: "ogg", codec: []string{"libvorbis"}},
			{format: preprocess.MOV, ext: "mov", codec: []string{"pcm_f64be"}},
			{format: preprocess.AVI, ext: "avi", codec: []string{"pcm_u8"}},
		} {
			t.Run(name+" "+f.codec[0], func(t *testing.T) {
				t.Parallel()
				path := filepath.Join(t.TempDir(), "x."+f.ext)
				ffmpeg(t, "-f", "lavfi", "-i", "aevalsrc="+left+"|"+tc.right+":s=44100:d=2", "-c:a", f.codec[0], path)
				d, err := decodePath(t, path, f.format, testLimits())
				if err != nil {
					t.Fatal(err)
				}
				wantTone(t, window(t, d.arena, 1), tc.want, 0.1)
			})
		}
	}
}

// TestPairsAreMixedLikeOthers: two channels have a loop of their own, which must
// find the same mean, and the same loss, as the one for any number.
func TestPairsAreMixedLikeOthers(t *testing.T) {
	t.Parallel()
	levels := make([]float64, 2*10_001)
	integers(levels, noise(4*len(levels)), 4)
	pairs, others := mixer{}, mixer{}
	mono := make([]float32, len(levels)/2)
	pairs.MixAll(mono[:4000], levels, 2)
	pairs.MixAll(mono[4000:], levels[8000:], 2)
	for i, x := range mono {
		if want := float32(others.Mix(levels[2*i : 2*i+2])); math.Float32bits(x) != math.Float32bits(want) {
			t.Fatalf("sample %d is %v, want %v", i, x, want)
		}
	}
	if pairs != others {
		t.Fatalf("lost %v of %v, want %v of %v", pairs.mean, pairs.apart, others.mean, others.apart)
	}
}

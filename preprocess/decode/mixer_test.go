//go:build gocv_specific_modules

package decode

import (
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

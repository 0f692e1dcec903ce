package inference

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestALongSoundTakesThePlacesOfAFilm: half an hour of sound is 58 MB while it is judged, as much as a film's frames.
func TestALongSoundTakesThePlacesOfAFilm(t *testing.T) {
	t.Parallel()
	opts := DefaultDetectorOptions()
	g := newGate(opts)
	wav, mp3 := uploaded("RIFF\x00\x00\x00\x00WAVEfmt "), uploaded("ID3\x03\x00\x00\x00\x01\x00\x00TIT2")
	for name, c := range map[string]struct {
		req    Request
		places int
	}{
		"a minute of WAV":       {Request{File: wav, Size: 1_920_044}, 1},
		"half an hour of WAV":   {Request{File: wav, Size: 57_600_044}, opts.Film},
		"a minute of MP3":       {Request{File: mp3, Size: 480_000}, 1},
		"a quarter hour of MP3": {Request{File: mp3, Size: 3_600_000}, opts.Film},
	} {
		assert.Equal(t, c.places, g.takes(classOf(c.req)), name)
	}
}

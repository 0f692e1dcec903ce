//go:build gocv_specific_modules

package decode

/*
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
)

// moreTracks is how many tracks of sound are listened to beside the chosen one, each for
// its whole length.
const moreTracks = 3

// noiseless is up to how far from its level, in steps of 16 bits, a sound is rounding and nothing else,
// and ripple what part of the level a change of the rate may add to it.
const (
	noiseless = 1
	ripple    = 1 << 11
)

// Silent says whether there is nothing to be heard, in any channel: the level stays, at zero or elsewhere.
func (s *sound) Silent() bool {
	if s.mix.Lost() {
		return false
	}
	low, high := math.MaxInt16, math.MinInt16
	for i, piece := range s.pieces {
		for _, level := range piece[:min(len(piece), s.n-i*soundPiece)] {
			if low, high = min(low, int(level)), max(high, int(level)); high-low > 2*noiseless+max(high, -low)/ripple {
				return false
			}
		}
	}
	return true
}

// takeTrack takes the first other track that is not silent: cameras keep one for each
// microphone, whether one is plugged in or not, and recorders of screens one for each
// source. Where all are silent it changes nothing.
func (c *container) takeTrack(src Source, in *input) error {
	left := moreTracks
	for _, stream := range in.streams() {
		index := int(stream.index)
		if index == c.track || left == 0 || stream.codecpar.codec_type != C.AVMEDIA_TYPE_AUDIO || !audible(stream) {
			continue
		}
		left--
		other, err := decodeTrack(src, index, sound{limit: c.sound.limit, heard: c.sound.heard})
		c.sound.heard = max(c.sound.heard, other.heard) // all of the file costs together
		switch {
		case errors.Is(err, errDamaged):
			continue
		case err != nil:
			return err
		}
		if !other.Silent() {
			c.sound, c.track = other, index
			return nil
		}
	}
	return nil
}

// decodeTrack decodes one stream of sound on its own, as s says.
func decodeTrack(src Source, stream int, s sound) (sound, error) {
	in, err := openInput(src)
	if err != nil {
		return s, err
	}
	defer in.Close()
	if err := in.probe(src.Limits); err != nil {
		return s, err
	}
	if stream >= len(in.streams()) {
		return s, fmt.Errorf("%w: no sound any more", errDamaged)
	}
	for i, other := range in.streams() {
		if i != stream {
			other.discard = C.AVDISCARD_ALL
		}
	}
	c := container{sound: s}
	dec, err := newSoundDecoder(in.streams()[stream], &c.sound)
	if err != nil {
		return s, err
	}
	defer dec.Close()
	if err := c.read(in, dec); err != nil {
		return s, err
	}
	err = dec.Finish()
	c.sound.damaged = c.damaged || dec.faults > 0
	return c.sound, err
}

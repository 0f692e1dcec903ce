package decode

import (
	"fmt"
	"math"
	"time"

	"deepfaked/preprocess"
)

// soundRate is the rate in Hz at which sound is judged.
const soundRate = preprocess.SoundRate

// soundShortest is how many samples are enough to be judged. What fills no window is repeated, and what
// repeats itself often sounds made: of genuine speech cut to .1 seconds 25 to 50 % were called fake at the
// balanced line, cut to .2 seconds 7 to 12, and to .3 to 1 seconds 3 to 10.
const soundShortest = soundRate / 2

// soundPiece is how many samples are kept in one allocation, so that half an
// hour of sound grows without being copied.
const soundPiece = 1 << 18

// maxHeard bounds the samples of all channels of a stream together: what decoding costs at most, whatever the length. Two hours of
// eight channels at 48 kHz are 2.8 billion.
const maxHeard = 3_000_000_000

// fullScale is the level of a sample of 16 bits that stands for 1.
const fullScale = 1 << 15

// sound gathers mono samples at soundRate, in 16 bits: the speech model was
// trained on those, and hears what finer ones lack, their rounding, where a
// sound has silence or an empty band. It holds at most limit of them: half an
// hour is 58 MB.
type sound struct {
	limit  time.Duration
	mix    mixer // of the channels it comes from
	pieces [][]int16
	stored *stored // in place of pieces; may be nil
	n      int
	times  soundTimes
	heard  int64 // samples of all channels that it comes from
	early  early

	damaged bool // parts of it made no sense, if it was decoded on its own

	run     run     // of windows, in the output
	scratch []int16 // of window
}

// Duration is when the sound ends, as far as it is known.
func (s *sound) Duration() time.Duration { return s.times.of(s.n) }

// soundTime is the time at which sample n starts.
func soundTime(n int) time.Duration {
	return time.Duration(n) * (time.Second / soundRate)
}

// Write appends samples. What is not a number becomes silence, and what is
// beyond full scale is clipped. The error is a *preprocess.Error once the limit
// is passed.
func (s *sound) Write(samples []float32) error {
	most := s.limit + time.Second // encoders pad the end
	if s.Duration()+soundTime(len(samples)) > most && soundTime(s.n+len(samples)) <= most {
		s.times.forget() // a single wrong one is enough for that
	}
	if s.Duration()+soundTime(len(samples)) > most {
		return tooLong(s.Duration()+soundTime(len(samples)), s.limit)
	}
	for len(samples) > 0 {
		if s.n == len(s.pieces)*soundPiece {
			s.pieces = append(s.pieces, make([]int16, soundPiece))
		}
		piece := s.pieces[s.n/soundPiece][s.n%soundPiece:]
		n := min(len(piece), len(samples))
		quantize(piece[:n], samples[:n])
		s.n += n
		samples = samples[n:]
	}
	return s.tell()
}

// hear counts what a decoder gave: so many samples of each channel. The error is a *preprocess.Error once
// the limit is passed.
func (s *sound) hear(samples, channels int) error {
	if s.heard += int64(samples) * int64(channels); s.heard > maxHeard {
		return tooLarge(fmt.Sprintf("The file has more than %d million samples of sound in all channels together.", maxHeard/1_000_000))
	}
	return nil
}

// quantize rounds samples to 16 bits.
func quantize(dst []int16, samples []float32) {
	for i, x := range samples[:len(dst)] {
		level := math.RoundToEven(float64(x) * fullScale)
		if !(level > -fullScale && level < fullScale) { // or no number
			level = max(-fullScale, min(finite(float64(x))*fullScale, fullScale-1))
		}
		dst[i] = int16(level)
	}
}

// read fills dst from sample from on.
func (s *sound) read(dst []int16, from int) error {
	if s.stored != nil {
		return s.stored.read(dst, from)
	}
	for len(dst) > 0 {
		piece := s.pieces[from/soundPiece][from%soundPiece:]
		n := copy(dst, piece)
		dst, from = dst[n:], from+n
	}
	return nil
}

// tooLong refuses a file for its duration, which is beyond the limit.
func tooLong(d, limit time.Duration) error {
	length := "at least " + d.Truncate(time.Second).String()
	if d-limit < time.Second {
		length = "more than " + limit.String()
	}
	return tooLarge(fmt.Sprintf("The file lasts %s; at most %v are allowed.", length, limit))
}

// tooLarge refuses a file for a limit that it passes; message names it.
func tooLarge(message string) error {
	return &preprocess.Error{Code: preprocess.PayloadTooLarge, Message: message}
}

// tooShort refuses sound that says nothing.
func tooShort(format string) error {
	return unsupported("The file is recognised as " + format + " but its sound is shorter than 0.5 seconds, too short to be judged.")
}

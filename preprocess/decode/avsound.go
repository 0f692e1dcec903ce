package decode

import (
	"fmt"
	"math"
	"time"

	"deepfaked/preprocess"
)

// soundRate is the rate in Hz at which sound is judged.
const soundRate = 16_000

// What too little sound is: no detector can say anything about a click.
const (
	soundShortest = soundRate / 10 // samples in a file that is whole
	soundSalvaged = soundRate / 2  // samples in a file that is damaged
)

// soundPiece is how many samples are kept in one allocation, so that half an
// hour of sound grows without being copied.
const soundPiece = 1 << 18

// sound gathers mono samples at soundRate. It holds at most limit of them: half
// an hour is 115 MB.
type sound struct {
	limit  time.Duration
	pieces [][]float32
	n      int
}

// Duration is how long the sound is so far.
func (s *sound) Duration() time.Duration { return soundTime(s.n) }

// soundTime is the time at which sample n starts.
func soundTime(n int) time.Duration {
	return time.Duration(n) * (time.Second / soundRate)
}

// Write appends samples. What is not a number becomes silence, and what is
// beyond full scale is clipped. The error is a *preprocess.Error once the limit
// is passed.
func (s *sound) Write(samples []float32) error {
	if s.Duration()+soundTime(len(samples)) > s.limit+time.Second { // encoders pad the end
		return tooLong(s.Duration()+soundTime(len(samples)), s.limit)
	}
	for len(samples) > 0 {
		if s.n == len(s.pieces)*soundPiece {
			s.pieces = append(s.pieces, make([]float32, soundPiece))
		}
		at := s.n % soundPiece
		k := copy(s.pieces[s.n/soundPiece][at:], samples)
		for i, x := range s.pieces[s.n/soundPiece][at : at+k] {
			s.pieces[s.n/soundPiece][at+i] = float32(finite(float64(x)))
		}
		s.n += k
		samples = samples[k:]
	}
	return nil
}

// read fills dst from sample from on.
func (s *sound) read(dst []float32, from int) {
	for len(dst) > 0 {
		k := copy(dst, s.pieces[from/soundPiece][from%soundPiece:])
		from += k
		dst = dst[k:]
	}
}

// Windows writes the windows to be judged into out, spread over the length. A
// sound that is shorter than a window is repeated to fill it.
func (s *sound) Windows(out *Arena, l preprocess.Limits) error {
	for _, start := range windowStarts(s.n, l) {
		w, err := out.Window(l.Samples, soundTime(start))
		if err != nil {
			return fmt.Errorf("window at %v: %w", soundTime(start), err)
		}
		whole := min(s.n, l.Samples)
		s.read(w[:whole], start)
		for filled := whole; filled < len(w); filled += whole {
			copy(w[filled:], w[:whole])
		}
	}
	return nil
}

// windowStarts spreads windows of l.Samples over n samples: as many as fill
// them, at most l.Windows, the first at the start and the last at the end; a
// single one in the middle.
func windowStarts(n int, l preprocess.Limits) []int {
	count := min((n+l.Samples-1)/l.Samples, l.Windows)
	switch {
	case count < 1:
		return nil
	case count == 1:
		return []int{max(0, n-l.Samples) / 2}
	}
	starts := make([]int, count)
	for i := range starts {
		starts[i] = int(math.Round(float64(i) * float64(n-l.Samples) / float64(count-1)))
	}
	return starts
}

// tooLong refuses a file for its duration.
func tooLong(d, limit time.Duration) error {
	return tooLarge(fmt.Sprintf("The file lasts at least %v; at most %v are allowed.", d.Round(time.Second), limit))
}

// tooLarge refuses a file for a limit that it passes; message names it.
func tooLarge(message string) error {
	return &preprocess.Error{Code: preprocess.PayloadTooLarge, Message: message}
}

// tooShort refuses sound that says nothing.
func tooShort(format string) error {
	return unsupported("The file is recognised as " + format + " but its sound is shorter than 0.1 seconds, too short to be judged.")
}

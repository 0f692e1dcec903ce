package decode

import (
	"fmt"
	"os"

	"deepfaked/preprocess"
)

// Windows of a sound of up to 18 seconds lie side by side, as the speech model was measured. Those of a longer one are
// 2.048 seconds apart; half an hour has 878. They share their samples: each for itself, they would be 112 MB. Their
// distance is a whole number of pages, so that each can be mapped as soon as it is told of.

// grain is of what the distance of overlapping windows is a multiple: that many samples are a page.
const grain = 2048

// run is a part of a sound that is one piece of the output: the windows in it share what they have in common.
type run struct {
	from, to int   // samples of the sound
	done     int   // up to which they have been written
	offset   int64 // of the first one, in the output
}

// holds says whether the window of size samples from start on is in it, at the start of a page.
func (r run) holds(start, size int) bool {
	return start >= r.from && start+size <= r.to && (start-r.from)*preprocess.SampleBytes%os.Getpagesize() == 0
}

// runOf is how far the windows of size samples that begin at starts are one piece with the first.
func runOf(starts []int, size int) run {
	r := run{from: starts[0], to: starts[0] + size, done: starts[0]}
	for _, start := range starts[1:] {
		if longer := (run{from: r.from, to: start + size}); start > r.to || !longer.holds(start, size) {
			break
		}
		r.to = start + size
	}
	return r
}

// Windows writes the windows to be judged into out. A sound that is shorter than a window is repeated to fill it.
func (s *sound) Windows(out *Arena, l preprocess.Limits) error {
	starts := windowStarts(s.n, l)
	told := s.early.among(starts)
	out.Forget(told)
	for i := told; i < len(starts); i++ {
		if err := s.window(out, starts[i:], l.Samples); err != nil {
			return err
		}
	}
	return nil
}

// window writes the window of size samples that begins at the first of starts, others of which may follow.
func (s *sound) window(out *Arena, starts []int, size int) error {
	start := starts[0]
	if !s.run.holds(start, size) {
		r := runOf(starts, size)
		offset, err := out.Sound(r.to - r.from)
		if err != nil {
			return fmt.Errorf("window at %v: %w", s.times.of(start), err)
		}
		r.offset = offset
		s.run = r
	}
	r := &s.run
	if from := max(start, r.done); from < start+size {
		samples, err := s.samples(from, start+size-from)
		if err == nil {
			err = out.Samples(samples, r.offset+int64(from-r.from)*preprocess.SampleBytes)
		}
		if err != nil {
			return err
		}
		r.done = start + size
	}
	out.Window(r.offset+int64(start-r.from)*preprocess.SampleBytes, size, s.times.of(start))
	return nil
}

// samples are n samples from one on; those of a sound that has fewer are repeated. They are valid until the next call.
func (s *sound) samples(from, n int) ([]int16, error) {
	if len(s.scratch) < n {
		s.scratch = make([]int16, n)
	}
	w, whole := s.scratch[:n], min(s.n-from, n)
	if err := s.read(w[:whole], from); err != nil {
		return nil, err
	}
	for filled := whole; filled < len(w); filled += whole {
		copy(w[filled:], w[:whole])
	}
	return w, nil
}

// windowStarts cuts n samples into windows of l.Samples: one where they are not enough for one and a half, in the
// middle; n/l.Samples rounded where these lie side by side, the first at the start and the last at the end, the rule that
// the speech model was measured with (window_starts in scripts/train/speech/audio.py); else overlapping ones.
func windowStarts(n int, l preprocess.Limits) []int {
	if n < 1 {
		return nil
	}
	count := max(1, (n+l.Samples/2)/l.Samples)
	if count > preprocess.SideBySide && l.Windows > preprocess.SideBySide {
		return overlapping(n, l)
	}
	if count = min(l.Windows, count); count == 1 {
		return []int{max(0, (n-l.Samples)/2)}
	}
	starts := make([]int, count)
	for i := range starts {
		starts[i] = i * (n - l.Samples) / (count - 1)
	}
	return starts
}

// overlapping are windows about half a window apart, so that one of them holds two and a half of any three seconds. They
// lie further apart where there would be more than l.Windows. The last is at the end; where the others begin does not
// depend on the length. scripts/train/speech/stretch.py does the same.
func overlapping(n int, l preprocess.Limits) []int {
	last := n - l.Samples
	apart := max(ceil(l.Samples, 2), ceil(last, l.Windows-1))
	hop := ceil(apart, grain) * grain
	var starts []int
	for at := 0; at < last; at += hop {
		starts = append(starts, at)
	}
	return append(starts, last)
}

// ceil is a/b, rounded up.
func ceil(a, b int) int { return (a + b - 1) / b }

package decode

import (
	"math"
	"time"

	"deepfaked/preprocess"
)

// early are the windows that are judged while their sound still grows.
type early struct {
	out    *Arena
	size   int   // samples of a window
	starts []int // of those to tell of, if the sound becomes as long as expected
	told   int   // of them
}

// expect foresees the windows of a sound of that length. Only all of it says where
// the last one begins. A resampler's filter may make the sound a sample longer or
// shorter: whoever reads it compares in the end.
func expect(length time.Duration, out *Arena, l preprocess.Limits) early {
	e := early{out: out, size: l.Samples}
	starts := windowStarts(int(math.Ceil(length.Seconds()*soundRate)), l)
	if len(starts) > 1 {
		e.starts = starts[:len(starts)-1]
	}
	return e
}

// tell writes the windows that have become complete and tells the server.
func (s *sound) tell() error {
	for e := &s.early; e.told < len(e.starts) && e.starts[e.told]+e.size <= s.n; e.told++ {
		if err := s.window(e.out, e.starts[e.told:], e.size); err != nil {
			return err
		}
		if err := e.out.Done(); err != nil {
			return err
		}
	}
	return nil
}

// among counts the windows told of that begin where those of the whole sound do,
// from the first on.
func (e *early) among(starts []int) int {
	n := 0
	for n < min(e.told, len(starts)) && e.starts[n] == starts[n] {
		n++
	}
	return n
}

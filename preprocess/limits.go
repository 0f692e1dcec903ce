package preprocess

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// maxWindows is of how many windows a child's reply can tell: it is one message.
const maxWindows = 1000

// SoundRate is the rate of a window in Hz.
const SoundRate = 16_000

// Limits bounds what a file may be and what is taken from it.
type Limits struct {
	Pixels   int64         `comment:"of one picture or video frame, as declared by the file"`
	Duration time.Duration `comment:"of sound and video"`
	Streams  int           `comment:"of sound and video in one container"`
	Side     int           `comment:"of a canonical frame's longer side, pixels; at least 224"`
	Frames   int           `comment:"taken from a video or an animation, spread over its length"`
	Windows  int           `comment:"taken from a sound at most, some two seconds apart; where they do not reach, they lie further apart"`
	Samples  int           `comment:"in a window, at 16 kHz; at least 1600"`
	// Stretches are taken from a video at most, spread over its length, each of
	// StretchFrames consecutive frames whose longer side is at most StretchSide pixels.
	// None are by default: it is for the models that are loaded to ask for them.
	Stretches     int `yaml:"-"`
	StretchFrames int `yaml:"-"`
	StretchSide   int `yaml:"-"`
}

// DefaultLimits are those of the contract and of the built-in models.
func DefaultLimits() Limits {
	return Limits{
		Pixels: 64_000_000, Duration: 30 * time.Minute, Streams: 32,
		Side: 1280, Frames: 16, Windows: 900, Samples: 64_000,
	}
}

// OutputBytes bounds the pixels and samples of one file that keeps the limits.
func (l Limits) OutputBytes() int64 {
	frame := 3 * int64(l.Side) * int64(l.Side)
	stretch := 3 * int64(l.StretchFrames) * int64(l.StretchSide) * int64(l.StretchSide)
	page := int64(os.Getpagesize()) // each begins on one of its own
	sound := l.soundBytes(page)
	// Windows are told of early where there are no frames, and are written twice where they turn out to be others.
	return max(int64(l.Frames)*(frame+page), sound) + sound + int64(l.Stretches)*(stretch+page)
}

// soundBytes bounds the samples. Windows that overlap share what they have in common, so that all together are no
// longer than the sound and two windows, or one for itself each.
func (l Limits) soundBytes(page int64) int64 {
	window := SampleBytes*int64(l.Samples) + page
	whole := SampleBytes * int64((l.Duration+time.Second).Seconds()*SoundRate)
	return min(int64(l.Windows)*window, whole+2*window)
}

// Validate names the first field that makes no sense.
func (l Limits) Validate() error {
	switch {
	case l.Pixels < 1:
		return errors.New("limits: pixels must be at least 1")
	case l.Duration <= 0:
		return errors.New("limits: duration must be positive")
	case l.Streams < 1:
		return errors.New("limits: streams must be at least 1")
	case l.Side < 224 || l.Side > 8192:
		return errors.New("limits: side must be between 224 and 8192 pixels")
	case l.Frames < 1 || l.Frames > 256:
		return errors.New("limits: frames must be between 1 and 256")
	case l.Windows < 1 || l.Windows > maxWindows:
		return fmt.Errorf("limits: windows must be between 1 and %d", maxWindows)
	case l.Samples < 1600:
		return errors.New("limits: samples must be at least 1600")
	case l.Stretches < 0 || l.Stretches > 16:
		return errors.New("limits: stretches must be between 0 and 16")
	case l.Stretches > 0 && (l.StretchFrames < 2 || l.StretchFrames > 64):
		return errors.New("limits: the frames of a stretch must be between 2 and 64")
	case l.Stretches > 0 && (l.StretchSide < 64 || l.StretchSide > 8192):
		return errors.New("limits: the side of a stretch must be between 64 and 8192 pixels")
	}
	return nil
}

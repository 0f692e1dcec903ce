// Package animation takes animated GIF, PNG and WebP files apart into single
// pictures, without decoding any of them.
package animation

import (
	"errors"
	"image"
	"time"
)

// Animation is a file taken apart. It refers to the file's bytes.
type Animation struct {
	Width, Height int
	Frames        []Frame
	Incomplete    bool // there should be more frames, or something that is none stands behind or between them
}

// Frame is one picture of an animation, to be put onto those before it.
type Frame struct {
	Rect     image.Rectangle // where, inside of the animation
	Extent   image.Rectangle // where all of it would be, some of which may lie outside to the right or below
	Delay    time.Duration   // how long it is shown
	Over     bool            // blended over what is there; otherwise it replaces that
	Disposal Disposal
	Alpha    bool // may be transparent

	still func() []byte
}

// Still is the frame as a file of its own, of the size of Extent.
func (f Frame) Still() []byte { return f.still() }

// Disposal is what becomes of the frame's area before the next frame.
type Disposal byte

// The disposals.
const (
	Keep    Disposal = iota
	Clear            // becomes transparent
	Restore          // becomes what it was before the frame
)

// MaxFrames bounds how many frames an animation may have.
const MaxFrames = 50_000

// MaxArea bounds the pixels of all frames together: what decoding costs at most.
const MaxArea = 2_000_000_000

// The reasons why a file cannot be taken apart.
var (
	ErrDamaged  = errors.New("animation: damaged or truncated")
	ErrTooLarge = errors.New("animation: too many frames or pixels")
)

// named replaces a delay of no more than 10 ms, as browsers do.
func named(delay time.Duration) time.Duration {
	if delay <= 10*time.Millisecond {
		return 100 * time.Millisecond
	}
	return delay
}

// add appends a frame after checking it. All of it is there unless its extent says otherwise.
func (a *Animation) add(f Frame) error {
	if f.Extent.Empty() {
		f.Extent = f.Rect
	}
	if f.Rect.Empty() || !f.Rect.In(image.Rect(0, 0, a.Width, a.Height)) {
		return ErrDamaged
	}
	f.Delay = named(f.Delay)
	a.Frames = append(a.Frames, f)
	if len(a.Frames) > MaxFrames {
		return ErrTooLarge
	}
	return nil
}

// check says whether there is something to show, at a bearable cost.
func (a *Animation) check() error {
	if len(a.Frames) == 0 {
		return ErrDamaged
	}
	if a.Area() > MaxArea {
		return ErrTooLarge
	}
	return nil
}

// Area is how many pixels all frames together have.
func (a *Animation) Area() (pixels int64) {
	for _, f := range a.Frames {
		pixels += int64(f.Extent.Dx()) * int64(f.Extent.Dy())
	}
	return pixels
}

// Duration is the length of one pass.
func (a *Animation) Duration() time.Duration {
	total := time.Duration(0)
	for _, f := range a.Frames {
		total += f.Delay
	}
	return total
}

// Moment is a frame and when it begins to show.
type Moment struct {
	Frame int
	At    time.Duration
}

// Spread chooses at most n frames, those that show in the middle of n equal parts of the
// length: all of them where there are no more and each shows for as long as any other. A
// frame that flashes up is left out however few there are.
func (a *Animation) Spread(n int) []Moment {
	var chosen []Moment
	total, at, part := a.Duration(), time.Duration(0), 0
	for i, f := range a.Frames {
		end := at + f.Delay
		wanted := false
		for part < n && time.Duration(float64(total)*(float64(part)+0.5)/float64(n)) < end {
			wanted, part = true, part+1
		}
		if wanted {
			chosen = append(chosen, Moment{Frame: i, At: at})
		}
		at = end
	}
	return chosen
}

// KeyFrame is the last frame up to i before which nothing needs to be decoded
// to show i: it covers the whole animation and hides what was there. One after
// which what was there is restored hides it for no longer than it shows.
func (a *Animation) KeyFrame(i int) int {
	whole := image.Rect(0, 0, a.Width, a.Height)
	for k := i; k > 0; k-- {
		f, before := a.Frames[k], a.Frames[k-1]
		if f.Rect == whole && (!f.Over || !f.Alpha) && f.Disposal != Restore {
			return k
		}
		if before.Disposal == Clear && before.Rect == whole {
			return k
		}
	}
	return 0
}

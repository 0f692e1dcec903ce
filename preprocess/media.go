package preprocess

import (
	"sync"
	"time"
)

// Kind is the media type of the contract.
type Kind string

// The kinds of media. An MP4 or WebM without a video stream is Audio; an
// animated GIF, PNG or WebP is Image.
const (
	Image Kind = "image"
	Audio Kind = "audio"
	Video Kind = "video"
)

// Frame is one picture in canonical form: upright, RGB, on white where it was
// transparent, its longer side at most Limits.Side. What is not already lossily
// compressed at that size has been through JPEG (quality 90, 4:2:0) once, as
// were the pictures that the detectors were trained on.
type Frame struct {
	Pix    []byte        // Width*Height*3 bytes, rows top to bottom without padding
	Width  int           // pixels
	Height int           // pixels
	At     time.Duration // from the start of the media; 0 for a still picture
}

// Stretch is consecutive frames of a video as they are shown one after the other, all
// of one size, Limits.StretchFrames of them: upright, RGB, their longer side at most
// Limits.StretchSide. They have not been through JPEG.
type Stretch struct {
	Frames []Frame
}

// Window is a stretch of sound: 16 kHz, mono, 16 bits. Windows of a sound may overlap.
type Window struct {
	Samples []int16
	At      time.Duration
}

// SideBySide is up to how many windows of a sound lie side by side. A longer one has windows that overlap by half.
const SideBySide = 4

// SampleBytes is the size of a sample of a window.
const SampleBytes = 2

// Media is a decoded file. Frames, stretches and windows share memory with the decoder
// child: they are valid until Close. Reading it is safe for concurrent use.
type Media struct {
	Kind      Kind
	Format    string        // container or codec as a person names it: "JPEG", "MP4", "WAV"
	Width     int           // of the original, upright; 0 for sound
	Height    int           // of the original, upright; 0 for sound
	Duration  time.Duration // 0 for a still picture
	Notes     []Note        // what of the file is not in the rest
	Frames    []Frame       // one for a still, spread over the length otherwise
	Windows   []Window      // empty when there is no sound
	Stretches []Stretch     // of a video that is long enough, in order of time

	once    sync.Once
	release func()
	heard   func() // waits for the listener; nil: there is none
}

// NewMedia returns m's memory to its owner by release when it is closed.
// release may be nil.
func NewMedia(release func()) *Media { return &Media{release: release} }

// Heard waits until the listener has returned from every call.
func (m *Media) Heard() {
	if m.heard != nil {
		m.heard()
	}
}

// Close gives the memory of frames, stretches and windows back, once the listener has returned,
// whose ctx ends with it. It is idempotent.
func (m *Media) Close() {
	m.once.Do(func() {
		if m.release != nil {
			m.release()
		}
		m.Frames, m.Stretches, m.Windows = nil, nil, nil
	})
}

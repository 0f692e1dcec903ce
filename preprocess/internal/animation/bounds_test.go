package animation

import (
	"bytes"
	"errors"
	"image"
	"slices"
	"testing"
	"time"
)

// gifFrame is a frame of one pixel, so far to the right, of which nobody decodes the pixels.
func gifFrame(x byte) []byte {
	return []byte{0x2c, x, 0, 0, 0, 1, 0, 1, 0, 0, 2, 1, 0, 0}
}

// gifOf is a GIF of a screen of one pixel with these blocks.
func gifOf(blocks ...[]byte) []byte {
	return append(append([]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), slices.Concat(blocks...)...), 0x3b)
}

// A file of a few hundred kilobytes can have any number of frames, seen or not, each of which
// takes memory and time.
func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frame []byte
		more  int
		want  error
	}{
		"as many as may be":       {gifFrame(0), MaxFrames - 1, nil},
		"one more":                {gifFrame(0), MaxFrames, ErrTooLarge},
		"unseen":                  {gifFrame(1), MaxFrames, nil},
		"one more that is unseen": {gifFrame(1), MaxFrames + 1, ErrTooLarge},
	} {
		if _, err := GIF(gifOf(gifFrame(0), bytes.Repeat(c.frame, c.more))); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What is said of one frame holds for no other.
func TestControlIsOfOneFrame(t *testing.T) {
	t.Parallel()
	a, err := GIF(gifOf([]byte{0x21, 0xf9, 4, 2<<2 | 1, 50, 0, 0, 0}, gifFrame(0), gifFrame(0)))
	if err != nil || len(a.Frames) != 2 {
		t.Fatal(a, err)
	}
	first, second := a.Frames[0], a.Frames[1]
	if first.Delay != 500*time.Millisecond || first.Disposal != Clear || !first.Alpha {
		t.Errorf("the first frame is %+v", first)
	}
	if second.Delay != 100*time.Millisecond || second.Disposal != Keep || second.Alpha {
		t.Errorf("the second frame is %+v", second)
	}
}

// The canvas has no room for what reaches beyond it.
func TestFramesLieWithin(t *testing.T) {
	t.Parallel()
	for r, want := range map[image.Rectangle]error{
		image.Rect(0, 0, 4, 3): nil, image.Rect(3, 2, 4, 3): nil,
		image.Rect(0, 0, 5, 3): ErrDamaged, image.Rect(0, 0, 4, 4): ErrDamaged, image.Rect(4, 3, 5, 4): ErrDamaged, image.Rect(2, 2, 2, 3): ErrDamaged,
	} {
		if err := (&Animation{Width: 4, Height: 3}).add(Frame{Rect: r}); !errors.Is(err, want) {
			t.Errorf("%v: %v", r, err)
		}
	}
}

// All that is shared is copied for each of the frames.
func TestSharedChunksAreFew(t *testing.T) {
	t.Parallel()
	seed := smallPNG(1, 2)
	at := bytes.Index(seed, []byte("acTL")) - 4
	a, err := PNG(slices.Concat(seed[:at], bytes.Repeat(appendChunk(nil, "gAMA", make([]byte, 4)), 1000), seed[at:]))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(a.Frames[1].Still(), []byte("gAMA")); n != 16 {
		t.Errorf("%d chunks are copied for a frame", n)
	}
}

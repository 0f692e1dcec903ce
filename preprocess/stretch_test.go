package preprocess

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// stretchLimits ask for two stretches of three frames.
func stretchLimits() Limits {
	l := DefaultLimits()
	l.Stretches, l.StretchFrames, l.StretchSide = 2, 3, 640
	return l
}

// stretched is a reply with two stretches, which end with the output.
func stretched() (*DecodeReply, int64) {
	page := int64(os.Getpagesize())
	return &DecodeReply{
		Kind: Video, Format: "MP4", Width: 32, Height: 16, Frames: []FrameRef{{Width: 1, Height: 1}},
		Stretches: []StretchRef{
			{Offset: page, Width: 8, Height: 4, At: []time.Duration{0, 40, 40}},
			{Offset: 2 * page, Width: 16, Height: 2, At: []time.Duration{40, 80, 90}},
		},
	}, 2*page + 3*16*2*3
}

// TestStretchesAreChecked: what a child says of stretches may lead nowhere else, and
// makes sense.
func TestStretchesAreChecked(t *testing.T) {
	t.Parallel()
	req := DecodeRequest{Format: MP4, Limits: stretchLimits()}
	for name, spoil := range map[string]func(r *DecodeReply, first *StretchRef){
		"none of a sound":     func(r *DecodeReply, _ *StretchRef) { r.Kind, r.Windows = Audio, []WindowRef{{Samples: 64000}} },
		"more than asked for": func(r *DecodeReply, s *StretchRef) { r.Stretches = append(r.Stretches, *s) },
		"no pixels":           func(_ *DecodeReply, s *StretchRef) { s.Width = 0 },
		"negative":            func(_ *DecodeReply, s *StretchRef) { s.Height = -4 },
		"too wide":            func(_ *DecodeReply, s *StretchRef) { s.Width, s.Height = 641, 1 },
		"too high":            func(_ *DecodeReply, s *StretchRef) { s.Width, s.Height = 1, 641 },
		"a frame less":        func(_ *DecodeReply, s *StretchRef) { s.At = s.At[:2] },
		"a frame more":        func(_ *DecodeReply, s *StretchRef) { s.At = append(s.At, 40) },
		"no frames":           func(_ *DecodeReply, s *StretchRef) { s.At = nil },
		"before the output":   func(_ *DecodeReply, s *StretchRef) { s.Offset = -int64(os.Getpagesize()) },
		"beyond the output":   func(_ *DecodeReply, s *StretchRef) { s.Offset = 4 * int64(os.Getpagesize()) },
		"beyond 64 bits":      func(_ *DecodeReply, s *StretchRef) { s.Offset = math.MaxInt64 &^ 0xfff },
		"within a page":       func(_ *DecodeReply, s *StretchRef) { s.Offset++ },
		"the last byte":       func(r *DecodeReply, _ *StretchRef) { r.Stretches[1].Height = 3 },
		"before the start":    func(_ *DecodeReply, s *StretchRef) { s.At[0] = -1 },
		"back in time":        func(_ *DecodeReply, s *StretchRef) { s.At[2] = 39 },
		"overlapping":         func(r *DecodeReply, _ *StretchRef) { r.Stretches[1].At[0] = 39 },
	} {
		r, size := stretched()
		if err := r.check(req, size); err != nil {
			t.Fatal(err)
		}
		if spoil(r, &r.Stretches[0]); r.check(req, size) == nil {
			t.Errorf("%s: %+v is believed", name, r.Stretches)
		}
	}
	r, size := stretched()
	if r.check(DecodeRequest{Format: MP4, Limits: DefaultLimits()}, size) == nil {
		t.Error("stretches that nobody asked for are believed")
	}
	r.Kind = Image
	if r.check(DecodeRequest{Format: PNG, Limits: stretchLimits()}, size) == nil {
		t.Error("stretches of a picture are believed")
	}
}

// TestStretchesAliasTheOutput: each frame is its own part of it.
func TestStretchesAliasTheOutput(t *testing.T) {
	t.Parallel()
	ref := StretchRef{Offset: 4, Width: 2, Height: 1, At: []time.Duration{7, 8}}
	mapped := []byte("----" + "aaaaaa" + "bbbbbb" + "-")
	s := ref.open(mapped)
	for i, want := range []string{"aaaaaa", "bbbbbb"} {
		f := s.Frames[i]
		if !bytes.Equal(f.Pix, []byte(want)) || cap(f.Pix) != 6 || f.Width != 2 || f.Height != 1 || f.At != ref.At[i] {
			t.Errorf("frame %d is %+v", i, f)
		}
	}
	if mapped[4] = 'x'; s.Frames[0].Pix[0] != 'x' {
		t.Error("the pixels are a copy")
	}
}

func TestLimitsOfStretches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Limits)
		words  string
	}{
		"as usual":       {func(*Limits) {}, ""},
		"none":           {func(l *Limits) { *l = DefaultLimits() }, ""},
		"none of a size": {func(l *Limits) { l.Stretches, l.StretchFrames, l.StretchSide = 0, -1, -1 }, ""},
		"negative":       {func(l *Limits) { l.Stretches = -1 }, "stretches"},
		"many":           {func(l *Limits) { l.Stretches = 17 }, "stretches"},
		"one frame":      {func(l *Limits) { l.StretchFrames = 1 }, "frames"},
		"many frames":    {func(l *Limits) { l.StretchFrames = 65 }, "frames"},
		"small":          {func(l *Limits) { l.StretchSide = 63 }, "side"},
		"large":          {func(l *Limits) { l.StretchSide = 8193 }, "side"},
	} {
		l := stretchLimits()
		c.change(&l)
		err := l.Validate()
		if (err != nil) != (c.words != "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRoomForStretches: without any the output is as large as ever, and with them all
// frames find room.
func TestRoomForStretches(t *testing.T) {
	t.Parallel()
	without, with := DefaultLimits().OutputBytes(), stretchLimits().OutputBytes()
	if least := int64(2 * 3 * 640 * 640 * 3); with-without < least {
		t.Errorf("%d bytes for %d of stretches", with-without, least)
	}
	other := stretchLimits()
	other.Stretches = 0
	if got := other.OutputBytes(); got != without {
		t.Errorf("%d bytes without stretches, %d by default", got, without)
	}
}

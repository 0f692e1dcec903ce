package preprocess

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestWhatAChildSaysIsChecked: a file may have taken the child over, so that its reply is
// believed only within the limits and about a file like the one that it was sent. The output
// is large enough for each of these, which leaves the refusal to the one check.
func TestWhatAChildSaysIsChecked(t *testing.T) {
	t.Parallel()
	const size = int64(1) << 40
	limits := stretchLimits()
	film := DecodeRequest{Format: MP4, Output: size, Limits: limits}
	sound := DecodeRequest{Format: WAV, Output: size, Limits: limits}
	ofFilm := func() *DecodeReply {
		r, _ := stretched()
		r.Windows = []WindowRef{{Samples: limits.Samples}}
		return r
	}
	ofSound := func() *DecodeReply {
		return &DecodeReply{Kind: Audio, Format: "WAV", Windows: []WindowRef{{Samples: limits.Samples}}}
	}
	for name, tc := range map[string]struct {
		req   DecodeRequest
		reply func() *DecodeReply
		spoil func(r *DecodeReply)
	}{
		"a picture of sound":      {sound, ofSound, func(r *DecodeReply) { r.Kind, r.Frames = Image, []FrameRef{{Width: 1, Height: 1}} }},
		"a kind of its own":       {film, ofFilm, func(r *DecodeReply) { r.Kind, r.Stretches = "film", nil }},
		"a format that is unseen": {film, ofFilm, func(r *DecodeReply) { r.Format = "MP4\x1b[2J" }},
		"a format that is long":   {film, ofFilm, func(r *DecodeReply) { r.Format = strings.Repeat("4", 33) }},
		"a negative width":        {film, ofFilm, func(r *DecodeReply) { r.Width = -1 }},
		"a negative height":       {film, ofFilm, func(r *DecodeReply) { r.Height = -1 }},
		"a width beyond":          {film, ofFilm, func(r *DecodeReply) { r.Width = int(limits.Pixels) + 1 }},
		"a height beyond":         {film, ofFilm, func(r *DecodeReply) { r.Height = int(limits.Pixels) + 1 }},
		"a negative duration":     {film, ofFilm, func(r *DecodeReply) { r.Duration = -1 }},
		"a duration beyond":       {film, ofFilm, func(r *DecodeReply) { r.Duration = 2*limits.Duration + 1 }},
		"frames beyond": {film, ofFilm, func(r *DecodeReply) {
			for len(r.Frames) <= limits.Frames {
				r.Frames = append(r.Frames, r.Frames[0])
			}
		}},
		"windows beyond": {sound, ofSound, func(r *DecodeReply) {
			for len(r.Windows) <= limits.Windows {
				r.Windows = append(r.Windows, r.Windows[0])
			}
		}},
		"a film without frames":   {film, ofFilm, func(r *DecodeReply) { r.Frames = nil }},
		"sound without any":       {sound, ofSound, func(r *DecodeReply) { r.Windows = nil }},
		"a frame before the film": {film, ofFilm, func(r *DecodeReply) { r.Frames[0].At = -1 }},
		"a frame too wide":        {film, ofFilm, func(r *DecodeReply) { r.Frames[0].Width = limits.Side + 1 }},
		"a frame too high":        {film, ofFilm, func(r *DecodeReply) { r.Frames[0].Height = limits.Side + 1 }},
		"a stretch too wide":      {film, ofFilm, func(r *DecodeReply) { r.Stretches[0].Width = limits.StretchSide + 1 }},
		"a window before it all":  {sound, ofSound, func(r *DecodeReply) { r.Windows[0].At = -time.Second }},
		"a sample too few":        {sound, ofSound, func(r *DecodeReply) { r.Windows[0].Samples-- }},
		"a sample too many":       {sound, ofSound, func(r *DecodeReply) { r.Windows[0].Samples++ }},
	} {
		r := tc.reply()
		if err := r.check(tc.req, size); err != nil {
			t.Fatal(err)
		}
		if tc.spoil(r); r.check(tc.req, size) == nil {
			t.Errorf("%s is believed: %+v", name, r)
		}
	}
}

// TestWhatAChildBlamesIsChecked: a client reads no more than a short message of a child, and a
// code of its own is for the log alone.
func TestWhatAChildBlamesIsChecked(t *testing.T) {
	t.Parallel()
	blamed := &DecodeReply{Code: PayloadTooLarge, Message: strings.Repeat("a", maxText)}
	if fault := new(Error); !errors.As(blamed.fault(PNG), &fault) || fault.Code != PayloadTooLarge || fault.Message != blamed.Message {
		t.Fatalf("a fit message comes out as %v", fault)
	}
	blamed.Message += "a"
	if fault := new(Error); errors.As(blamed.fault(PNG), &fault) && fault.Message == blamed.Message {
		t.Error("a message of any length reaches the client")
	}
	if err := (&DecodeReply{Code: "out_of_order"}).fault(PNG); err == nil {
		t.Error("a reply with a code of its own is taken for a decoded file")
	}
	if text := said(strings.Repeat("a", 1<<20)); len(text) > 2*maxText {
		t.Errorf("%d bytes of a child reach the log", len(text))
	}
}

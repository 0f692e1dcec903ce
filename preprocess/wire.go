package preprocess

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"deepfaked/internal/sandbox"
)

// DecodeRequest goes to a decoder child, together with two descriptors: the
// media file, and the empty memory file that takes the output.
type DecodeRequest struct {
	ID     string `json:"id"` // random, anew with every request
	Format Format `json:"format"`
	Size   int64  `json:"size"` // of the media file, bytes
	Output int64  `json:"output"`
	Limits Limits `json:"limits"`

	sound bool // the file is known to be, which the child isn't told: one that refuses it is unfit
}

// DecodeReply comes back from a decoder child. It is checked like any input
// from outside: the file may have taken the child over. An empty reply is the
// child's greeting. Early ones may come before the one that ends the request.
type DecodeReply struct {
	ID        string        `json:"id,omitempty"` // of the request
	Kind      Kind          `json:"kind,omitempty"`
	Format    string        `json:"format,omitempty"`
	Width     int           `json:"width,omitempty"`
	Height    int           `json:"height,omitempty"`
	Duration  time.Duration `json:"duration,omitempty"`
	Notes     []Note        `json:"notes,omitempty"`
	Frames    []FrameRef    `json:"frames,omitempty"`
	Windows   []WindowRef   `json:"windows,omitempty"`
	Stretches []StretchRef  `json:"stretches,omitempty"`
	Early     bool          `json:"early,omitempty"` // only windows, more of them than so far; the rest is still being decoded

	Code    Code   `json:"code,omitempty"`    // set when the client is to blame
	Message string `json:"message,omitempty"` // for the client, with Code
	Cause   string `json:"cause,omitempty"`   // for the log: set when the file cannot be decoded
	Full    bool   `json:"full,omitempty"`    // the output is too small for the limits: the service is to blame
	Leaving bool   `json:"leaving,omitempty"` // the child is in no state to go on, and ends after this reply
}

// FrameRef says where in the output a frame's pixels lie.
type FrameRef struct {
	Offset int64         `json:"offset"` // bytes, a multiple of the page size
	Width  int           `json:"width"`
	Height int           `json:"height"`
	At     time.Duration `json:"at"`
}

// StretchRef says where in the output the pixels of a stretch lie, frame after frame.
type StretchRef struct {
	Offset int64           `json:"offset"` // bytes, a multiple of the page size
	Width  int             `json:"width"`
	Height int             `json:"height"`
	At     []time.Duration `json:"at"` // of each frame
}

// frameBytes is the size of one of its frames.
func (s StretchRef) frameBytes() int64 { return int64(s.Width) * int64(s.Height) * 3 }

// WindowRef says where in the output a window's samples lie.
type WindowRef struct {
	Offset  int64         `json:"offset"` // bytes, a multiple of the page size
	Samples int           `json:"samples"`
	At      time.Duration `json:"at"`
}

// maxText bounds what a child may say.
const maxText = 400

// parseReply reads the message of a child that was sent the request of that id.
// A reply to another request is an error: a child may send more replies than it
// is asked for, so that the next file would be given the pixels of its choice.
func parseReply(message []byte, id string) (*DecodeReply, error) {
	reply := new(DecodeReply)
	if err := json.Unmarshal(message, reply); err != nil {
		return nil, fmt.Errorf("decode the child's reply: %w", err)
	}
	if reply.ID != id {
		return nil, errors.New("the child's reply is to another request")
	}
	return reply, nil
}

// failed says whether the reply carries an error, and so no output.
func (r *DecodeReply) failed() bool { return r.Code != "" || r.Cause != "" || r.Full }

// settle makes the output final, so that nothing that is checked here or seen
// later can change, and checks the reply against it.
func (r *DecodeReply) settle(req DecodeRequest, output *os.File) error {
	if err := sandbox.Freeze(output); err != nil {
		return err
	}
	info, err := output.Stat()
	if err != nil {
		return fmt.Errorf("measure the output: %w", err)
	}
	if info.Size() > req.Output {
		return fmt.Errorf("the child's output is %d bytes long", info.Size())
	}
	if err := r.check(req, info.Size()); err != nil {
		return fmt.Errorf("the child's reply makes no sense: %w", err)
	}
	return nil
}

// check says what is wrong with the reply to a request, if size bytes of output
// came with it.
func (r *DecodeReply) check(req DecodeRequest, size int64) error {
	switch {
	case r.Kind != Image && r.Kind != Audio && r.Kind != Video:
		return fmt.Errorf("kind %q", r.Kind)
	case req.Format.Kind() != "" && r.Kind != req.Format.Kind():
		return fmt.Errorf("kind %s of a %s file", r.Kind, req.Format)
	case len(r.Format) > 32 || !printable(r.Format):
		return errors.New("an unfit name of a format")
	case r.Width < 0 || r.Height < 0 || int64(max(r.Width, r.Height)) > req.Limits.Pixels:
		return fmt.Errorf("%d by %d pixels", r.Width, r.Height)
	case r.Duration < 0 || r.Duration > 2*req.Limits.Duration:
		return fmt.Errorf("a duration of %v", r.Duration)
	case len(r.Frames) > req.Limits.Frames || len(r.Windows) > req.Limits.Windows:
		return fmt.Errorf("%d frames and %d windows", len(r.Frames), len(r.Windows))
	case r.Kind != Audio && len(r.Frames) == 0, r.Kind == Audio && len(r.Windows) == 0:
		return fmt.Errorf("%s without content", r.Kind)
	case len(r.Stretches) > req.Limits.Stretches || len(r.Stretches) > 0 && r.Kind != Video:
		return fmt.Errorf("%d stretches of %s", len(r.Stretches), r.Kind)
	}
	if err := checkNotes(r.Notes); err != nil {
		return err
	}
	return r.checkRefs(req, size)
}

// checkNotes says which note is none, or there twice.
func checkNotes(notes []Note) error {
	for i, n := range notes {
		if n.Message() == "" || slices.Contains(notes[:i], n) {
			return fmt.Errorf("note %d: %.40q", i, n)
		}
	}
	return nil
}

// checkRefs says which reference leads outside of the output.
func (r *DecodeReply) checkRefs(req DecodeRequest, size int64) error {
	for i, f := range r.Frames {
		side := max(f.Width, f.Height)
		if f.Width < 1 || f.Height < 1 || side > req.Limits.Side || f.At < 0 ||
			outside(f.Offset, int64(f.Width)*int64(f.Height)*3, size) {
			return fmt.Errorf("frame %d: %+v", i, f)
		}
	}
	if err := checkStretches(r.Stretches, req, size); err != nil {
		return err
	}
	return checkWindows(r.Windows, req, size)
}

// checkStretches is checkRefs for stretches, which may not overlap in time either: each
// is judged as if it said something of its own.
func checkStretches(refs []StretchRef, req DecodeRequest, size int64) error {
	var before time.Duration
	for i, s := range refs {
		if s.Width < 1 || s.Height < 1 || max(s.Width, s.Height) > req.Limits.StretchSide || len(s.At) != req.Limits.StretchFrames ||
			outside(s.Offset, int64(len(s.At))*s.frameBytes(), size) {
			return fmt.Errorf("stretch %d: %d frames of %d by %d pixels at %d", i, len(s.At), s.Width, s.Height, s.Offset)
		}
		for _, at := range s.At {
			if at < before {
				return fmt.Errorf("stretch %d: a frame at %v after one at %v", i, at, before)
			}
			before = at
		}
	}
	return nil
}

// checkWindows is checkRefs for windows.
func checkWindows(refs []WindowRef, req DecodeRequest, size int64) error {
	for i, w := range refs {
		if w.Samples != req.Limits.Samples || w.At < 0 || outside(w.Offset, int64(w.Samples)*SampleBytes, size) {
			return fmt.Errorf("window %d: %+v", i, w)
		}
	}
	return nil
}

// outside says whether a piece of the output does not lie within its size bytes,
// at the start of a page.
func outside(offset, length, size int64) bool {
	return offset < 0 || offset%int64(os.Getpagesize()) != 0 || offset > size || length > size-offset
}

// fault is the error that the reply carries, if it carries one.
func (r *DecodeReply) fault(format Format) error {
	switch {
	case r.Full:
		return fmt.Errorf("decode a %s file: %w", format, ErrOutputFull)
	case r.Code == PayloadTooLarge || r.Code == UnsupportedMediaType:
		if r.Message == "" || len(r.Message) > maxText || !printable(r.Message) {
			return undecodable(format, errors.New("the child's message is unfit"))
		}
		return &Error{Code: r.Code, Message: r.Message, Err: cause(r.Cause)}
	case r.Code != "":
		return undecodable(format, fmt.Errorf("the child's code is %.40q", r.Code))
	case r.Cause != "":
		return undecodable(format, cause(r.Cause))
	}
	return nil
}

// refusal is the error of a child that carries one in its reply to a file that is sound.
func (r *DecodeReply) refusal(format Format) error {
	if fault := r.fault(format); fault != nil {
		return fmt.Errorf("the child refuses a sound file: %w", fault)
	}
	return nil
}

// cause is text of the child, cut to a bearable length; nil when it is empty.
func cause(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(said(text))
}

// said is text of a child, cut to a bearable length and legible.
func said(text string) string { return legible(text[:min(len(text), maxText)]) }

// legible is text of a child on one line, with a mark for each character that is not seen: a terminal would
// obey some of them.
func legible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r):
			return ' '
		}
		return unicode.ReplacementChar
	}, text)
}

// printable says whether s is plain text on one line.
func printable(s string) bool {
	for _, r := range s {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return true
}

// undecodable is the answer to a file that is what it seems but damaged.
func undecodable(format Format, cause error) *Error {
	return &Error{
		Code: UnsupportedMediaType, Err: cause,
		Message: fmt.Sprintf("The file is recognised as %s but cannot be decoded: it is damaged or truncated, "+
			"or uses a feature that is not supported.", format),
	}
}

// unsafeFile is the answer to a file that ended its decoder or used too much of it.
func unsafeFile(format Format, cause error) *Error {
	return &Error{
		Code: UnsupportedMediaType, Err: cause,
		Message: fmt.Sprintf("The file is recognised as %s but could not be decoded safely.", format),
	}
}

// mismatch is the answer to a file of another kind than declared.
func mismatch(declared, found Kind) *Error {
	return &Error{
		Code: ContentTypeMismatch,
		Message: fmt.Sprintf("The file was declared as %s but its content is %s: "+
			"correct media_type or leave it out.", declared, found),
	}
}

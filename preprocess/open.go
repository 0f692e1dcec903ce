package preprocess

import (
	"fmt"
	"os"

	"deepfaked/internal/sandbox"
)

// open makes media of a reply that has been settled, aliasing the output, and
// tells the listener of the windows that it has not heard of. The media closes
// the ear; it stays the caller's where there is an error.
func open(reply *DecodeReply, req DecodeRequest, declared Kind, output *os.File, e *ear) (*Media, error) {
	if err := reply.fault(req.Format); err != nil {
		return nil, err
	}
	if declared != "" && declared != reply.Kind {
		return nil, mismatch(declared, reply.Kind)
	}
	heard := e.keep(reply.Windows)
	mapped, err := mapRest(reply, len(heard), output)
	if err != nil {
		return nil, err
	}
	e.mapped = append(e.mapped, mapped)
	media := NewMedia(e.close)
	media.heard = e.calls.Wait
	media.Kind, media.Format = reply.Kind, reply.Format
	media.Width, media.Height, media.Duration = reply.Width, reply.Height, reply.Duration
	media.Notes = reply.Notes
	for _, f := range reply.Frames {
		end := f.Offset + int64(f.Width)*int64(f.Height)*3
		media.Frames = append(media.Frames, Frame{
			Pix: mapped[f.Offset:end:end], Width: f.Width, Height: f.Height, At: f.At,
		})
	}
	for _, s := range reply.Stretches {
		media.Stretches = append(media.Stretches, s.open(mapped))
	}
	media.Windows = heard
	for _, w := range reply.Windows[len(heard):] {
		media.Windows = append(media.Windows, Window{Samples: samplesOf(mapped[w.Offset:], w.Samples), At: w.At})
	}
	e.call(len(heard), media.Windows[len(heard):])
	return media, nil
}

// open is the stretch in the output that is mapped.
func (s StretchRef) open(mapped []byte) Stretch {
	frames, each := make([]Frame, len(s.At)), s.frameBytes()
	for i, at := range s.At {
		from := s.Offset + int64(i)*each
		frames[i] = Frame{Pix: mapped[from : from+each : from+each], Width: s.Width, Height: s.Height, At: at}
	}
	return Stretch{Frames: frames}
}

// mapRest maps the output, where the reply has more to it than the windows that
// have been heard.
func mapRest(reply *DecodeReply, heard int, output *os.File) ([]byte, error) {
	if len(reply.Frames) == 0 && heard == len(reply.Windows) {
		return nil, nil
	}
	info, err := output.Stat()
	if err != nil {
		return nil, fmt.Errorf("measure the output: %w", err)
	}
	return sandbox.Map(output, 0, int(info.Size()))
}

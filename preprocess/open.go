package preprocess

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"deepfaked/internal/sandbox"
)

// open makes media of a reply that has been settled, aliasing the output.
func open(reply *DecodeReply, req DecodeRequest, declared Kind, output *os.File) (*Media, error) {
	if err := reply.fault(req.Format); err != nil {
		return nil, err
	}
	if declared != "" && declared != reply.Kind {
		return nil, mismatch(declared, reply.Kind)
	}
	info, err := output.Stat()
	if err != nil {
		return nil, fmt.Errorf("measure the output: %w", err)
	}
	mapped, err := sandbox.Map(output, int(info.Size()))
	if err != nil {
		return nil, err
	}
	media := NewMedia(func() { _ = sandbox.Unmap(mapped) })
	media.Kind, media.Format = reply.Kind, reply.Format
	media.Width, media.Height, media.Duration = reply.Width, reply.Height, reply.Duration
	for _, f := range reply.Frames {
		end := f.Offset + int64(f.Width)*int64(f.Height)*3
		media.Frames = append(media.Frames, Frame{
			Pix: mapped[f.Offset:end:end], Width: f.Width, Height: f.Height, At: f.At,
		})
	}
	for _, w := range reply.Windows {
		samples := unsafe.Slice((*float32)(unsafe.Pointer(&mapped[w.Offset])), w.Samples) // on a page, so aligned
		if !sound(samples) {
			media.Close()
			return nil, undecodable(req.Format, errors.New("a sample is out of range"))
		}
		media.Windows = append(media.Windows, Window{Samples: samples, At: w.At})
	}
	return media, nil
}

//go:build gocv_specific_modules

package decode

/*
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
*/
import "C"

import (
	"cmp"
	"errors"
	"fmt"

	"deepfaked/preprocess"
)

// maxReads bounds how many packets of all chosen streams are read.
const maxReads = 4 << 20

// container is what one pass over all packets of a file yields.
type container struct {
	sound   sound
	track   int         // the stream that the sound is of
	chosen  *C.AVStream // of sound at first; nil without one
	opened  bool        // its codec has begun
	video   *video      // nil without a stream of pictures
	damaged bool        // the pass ended early, or packets made no sense
	torn    bool        // it has pages that were passed over
}

// decodeContainer writes the frames and windows of anything that FFmpeg opens
// into out. One pass over all packets decodes the sound and measures the video,
// whatever the headers say; the pictures are then decoded from a clip of the
// packets they need.
func decodeContainer(src Source, out *Arena) (Found, error) {
	in, err := openInput(src)
	if err != nil {
		return Found{}, err
	}
	defer in.Close()
	if err := in.probe(src.Limits); err != nil {
		return Found{}, err
	}
	c := container{sound: sound{limit: src.Limits.Duration}}
	c.torn = src.Format == preprocess.OGG && tornPages(src.File, src.Size)
	if err := c.scan(in, src); err != nil {
		return Found{}, err
	}
	if c.onlySound(in, src) {
		c.video = nil
	}
	if c.sound.Silent() {
		if err := c.takeTrack(src, in); err != nil {
			return Found{}, err
		}
	}
	if c.sound.mix.Lost() {
		if err := c.sound.takeLoudest(src, c.track); err != nil {
			return Found{}, err
		}
	}
	found, err := c.write(src, out)
	found.Notes = c.notes(in)
	return found, err
}

// scan reads every packet once. Pictures in a codec that is not decoded are
// refused even if there is sound beside them: a film is not judged by its sound
// alone.
func (c *container) scan(in *input, src Source) error {
	snd, vid := in.choose()
	if vid != nil && !decodable(vid) {
		return foreignCodec(src.Format, vid)
	}
	if vid != nil {
		c.video = newVideo(vid, src.Limits)
		defer c.video.fields.close()
	}
	var dec *soundDecoder
	if snd != nil {
		c.chosen, c.track = snd, int(snd.index)
		var err error
		dec, err = newSoundDecoder(snd, &c.sound)
		switch {
		case err == nil:
			c.opened = true
			defer dec.Close()
		case isMemory(err):
			return err
		case c.video == nil:
			return foreignCodec(src.Format, snd)
		}
	}
	if c.video == nil && dec == nil {
		return unsupported(fmt.Sprintf("The file is recognised as %s but it holds neither sound nor video.", src.Format))
	}
	if err := c.read(in, dec); err != nil || dec == nil {
		return err
	}
	err := dec.Finish()
	c.damaged = c.damaged || dec.faults > 0
	return err
}

// onlySound says whether an orderly file has one track for pictures and none in it, as of a recorder
// whose camera was off. Of several, there may be some in those that are passed over. A file that says how many there should be was cut off.
func (c *container) onlySound(in *input, src Source) bool {
	if c.video == nil || in.several(C.AVMEDIA_TYPE_VIDEO) || len(c.video.packets) > 0 || c.video.stream.nb_frames > 0 || c.damaged || c.torn || !c.enoughSound() {
		return false
	}
	return c.toItsEnd(src)
}

// toItsEnd says whether an orderly file is there to its end, which not all demuxers tell. An MP4 file in fragments
// may be cut off between two of them: it says of no track how much there is. So may WebM and MKV between two clusters.
func (c *container) toItsEnd(src Source) bool {
	switch name, _ := demuxer(src.Format); name { // the one by which it was opened
	case "mov":
		return c.chosen.nb_frames > 0
	case "matroska":
		return wholeSegment(src.File, src.Size)
	}
	return true
}

// foreignCodec refuses a stream that is not decoded.
func foreignCodec(f preprocess.Format, s *C.AVStream) error {
	return unsupported(fmt.Sprintf("The file is recognised as %s but its codec %s is not supported.", f, codecName(s)))
}

// read passes the packets on until the container ends. The error is a limit
// that was passed, or that memory ran out.
func (c *container) read(in *input, dec *soundDecoder) error {
	p := C.av_packet_alloc()
	if p == nil {
		return errMemory
	}
	defer C.av_packet_free(&p)
	for range maxReads {
		switch err := in.next(p); {
		case isMemory(err):
			return err
		case err != nil:
			c.damaged = !errors.Is(err, errEnd)
			return nil
		}
		var err error
		switch {
		case c.video != nil && p.stream_index == c.video.stream.index:
			err = c.video.note(p)
		case dec != nil && p.stream_index == dec.stream:
			err = dec.Decode(p)
		}
		C.av_packet_unref(p)
		if err != nil {
			return err
		}
	}
	return tooLarge(fmt.Sprintf("The file has more than %d packets of sound and pictures.", maxReads))
}

// write puts what was found into out.
func (c *container) write(src Source, out *Arena) (Found, error) {
	found := Found{Kind: preprocess.Audio, Format: string(src.Format), Duration: c.sound.Duration()}
	if c.video != nil {
		c.align()
		err := c.video.Frames(src, out)
		switch {
		case err != nil && !errors.Is(err, errDamaged):
			return Found{}, err
		case c.video.taken == 0:
			return Found{}, noPictures(src.Format, c.video.stream, err)
		}
		found.Kind, found.Width, found.Height = preprocess.Video, c.video.width, c.video.height
		found.Duration = max(c.sound.Duration(), c.video.late+c.video.Duration())
	}
	switch enough := c.enoughSound(); {
	case enough:
		return found, c.sound.Windows(out, src.Limits)
	case found.Kind == preprocess.Video:
		return found, nil
	case c.damaged || c.sound.n == 0:
		return Found{}, fmt.Errorf("%w: %d samples of sound", errDamaged, c.sound.n)
	default:
		return Found{}, tooShort(found.Format)
	}
}

// align counts the times of pictures and of sound from where the first of both begins. It
// changes nothing where there are no times, or none that can be: a file is no longer than is allowed.
func (c *container) align() {
	v, times := c.video, &c.sound.times
	if v.last <= v.first || len(times.marks) == 0 || (times.zero-v.first).Abs() < soundGap {
		return
	}
	zero := min(times.zero, v.first)
	if max(times.zero+c.sound.Duration(), v.last)-zero > v.limit {
		return
	}
	v.late, times.zero = v.first-zero, zero
}

// noPictures refuses a video of which no picture could be taken, whatever sound
// it has. cause may be nil.
func noPictures(f preprocess.Format, s *C.AVStream, cause error) error {
	return &preprocess.Error{
		Code: preprocess.UnsupportedMediaType, Err: cmp.Or(cause, errDamaged),
		Message: fmt.Sprintf("The file is recognised as %s but none of its pictures, coded in %s, can be decoded: "+
			"it is damaged or truncated, or uses a feature that is not supported.", f, codecName(s)),
	}
}

// enoughSound tells whether the sound can be judged.
func (c *container) enoughSound() bool { return c.sound.n >= soundShortest }

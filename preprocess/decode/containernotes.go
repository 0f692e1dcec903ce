//go:build gocv_specific_modules

package decode

/*
#include <libavformat/avformat.h>
*/
import "C"

import "deepfaked/preprocess"

// shown says whether a stream holds what is played: cover art is not video.
func shown(s *C.AVStream) bool {
	return s.disposition&(C.AV_DISPOSITION_ATTACHED_PIC|C.AV_DISPOSITION_TIMED_THUMBNAILS) == 0
}

// several says whether more than one stream of a kind is played.
func (in *input) several(kind C.enum_AVMediaType) bool {
	n := 0
	for _, s := range in.streams() {
		if s.codecpar.codec_type == kind && shown(s) {
			n++
		}
	}
	return n > 1
}

// notes says what of the file is not judged, once its pictures have been taken.
func (c *container) notes(in *input) []preprocess.Note {
	var list []preprocess.Note
	if note := c.unheard(); note != "" {
		list = append(list, note)
	} else if in.several(C.AVMEDIA_TYPE_AUDIO) {
		list = append(list, preprocess.OtherSound)
	}
	if in.several(C.AVMEDIA_TYPE_VIDEO) {
		list = append(list, preprocess.OtherPictures)
	}
	if c.damaged || c.torn || c.sound.damaged || c.video != nil && (c.video.headless || c.video.patched) {
		list = append(list, preprocess.Incomplete)
	}
	return list
}

// unheard says why the sound of a film is not judged, if it has one that is not.
func (c *container) unheard() preprocess.Note {
	switch {
	case c.chosen == nil || c.enoughSound():
		return ""
	case !audible(c.chosen):
		return preprocess.SoundUnsupported
	case c.damaged || !c.opened:
		return preprocess.SoundDamaged
	}
	return preprocess.SoundTooShort
}
